package rdb

// Object types, as stored before each key.
const (
	typeString          = 0
	typeList            = 1
	typeSet             = 2
	typeZSet            = 3
	typeHash            = 4
	typeZSet2           = 5
	typeModulePreGA     = 6
	typeModule2         = 7
	typeHashZipmap      = 9
	typeListZiplist     = 10
	typeSetIntset       = 11
	typeZSetZiplist     = 12
	typeHashZiplist     = 13
	typeListQuicklist   = 14
	typeStream          = 15
	typeHashListpack    = 16
	typeZSetListpack    = 17
	typeListQuicklist2  = 18
	typeStream2         = 19
	typeSetListpack     = 20
	typeStream3         = 21
	typeHashMetaPreGA   = 22 // Redis 7.4 release candidates
	typeHashLPExPreGA   = 23
	typeHashMeta        = 24 // Redis 7.4: fields with a TTL
	typeHashLPEx        = 25
	typeStream4         = 26 // Redis 8.6
	typeStream5         = 27 // Redis 8.8
	typeArray           = 28
	typeHashTmplLP      = 29
	typeHashTmplLPRef   = 30
	typeHashTmplArr     = 31
	typeHashTmplArrRef  = 32
	typeRateLimit       = 33
	typeKeyDBCron       = 64
	valkeyTypeHash2     = 22 // Valkey 9.0: fields with a TTL
	valkeyTypePathHash  = 23 // Valkey 9.2: refused, its layout is not final
	dragonflyTypesFirst = 30 // types 30 to 35 in dumps with version 9
	dragonflyTypesLast  = 35
)

// Opcodes, which stand where an object type could.
const (
	dragonflyOpFirst = 200
	dragonflyOpLast  = 223

	opTemplate  = 242 // Redis 8.10: names of hash fields shared by many hashes
	opUpdate    = 242 // Valkey 9.2: a command that ran while the dump was written
	opKeyMeta   = 243 // Redis 8.6
	opSlotImp   = 243 // Valkey 9.0
	opSlotInfo  = 244
	opFunction2 = 245
	opFunction  = 246
	opModuleAux = 247
	opIdle      = 248
	opFreq      = 249
	opAux       = 250
	opResizeDB  = 251
	opExpireMS  = 252
	opExpire    = 253
	opSelectDB  = 254
	opEOF       = 255
)

// Newest versions whose layout is known.
const (
	newestRedis  = 16
	newestValkey = 81
)

// typeNames maps an object type to what TYPE answers on a server.
var typeNames = [...]string{
	typeString: "string", typeList: "list", typeSet: "set", typeZSet: "zset", typeHash: "hash",
	typeZSet2: "zset", typeModulePreGA: "module", typeModule2: "module",
	typeHashZipmap: "hash", typeListZiplist: "list", typeSetIntset: "set", typeZSetZiplist: "zset",
	typeHashZiplist: "hash", typeListQuicklist: "list", typeStream: "stream", typeHashListpack: "hash",
	typeZSetListpack: "zset", typeListQuicklist2: "list", typeStream2: "stream", typeSetListpack: "set",
	typeStream3: "stream", typeHashMetaPreGA: "hash", typeHashLPExPreGA: "hash", typeHashMeta: "hash",
	typeHashLPEx: "hash", typeStream4: "stream", typeStream5: "stream", typeArray: "array",
	typeHashTmplLP: "hash", typeHashTmplLPRef: "hash", typeHashTmplArr: "hash",
	typeHashTmplArrRef: "hash", typeRateLimit: "gcra", typeKeyDBCron: "cron",
}

// moduleTypeName decodes the nine characters in the upper 54 bits of a module
// type's ID, which are what TYPE answers for its keys.
func moduleTypeName(id uint64) string {
	const charset = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var name [9]byte
	id >>= 10 // the lower ten bits are the version of the encoding
	for i := len(name) - 1; i >= 0; i-- {
		name[i] = charset[id&63]
		id >>= 6
	}
	return string(name[:])
}
