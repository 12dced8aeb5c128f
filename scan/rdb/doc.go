// Package rdb reads the keys of a Redis or Valkey dump: name, expiry, idle
// time, access frequency and type. Values are skipped, never decoded, so that
// memory does not depend on the size of the dump or of its values.
//
// It knows every RDB version of Redis from 1 to 16 and of Valkey 80 and 81.
// The two families give different meanings to the same type and opcode
// numbers from 22 on; the magic at the start of the dump decides. The format
// was read in the sources of Redis (src/rdb.c, src/rdb.h), Valkey and KeyDB.
// A type or opcode that is not known ends the reading with an *Error that
// names its byte offset, because what follows can't be found.
package rdb
