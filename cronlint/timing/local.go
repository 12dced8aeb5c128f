package timing

import (
	"regexp"
	"strings"
)

// localText ends the message about a job that asks nothing of other machines.
const localText = "; it asks nothing of others, so this matters only where machines share a disk or a hypervisor"

var (
	// housekeeping are programs that work on the machine's own files only.
	housekeeping = regexp.MustCompile(`\b(?:logrotate|savelog|man-?db|mandb|dpkg-db-backup|p?m?locate|updatedb|fstrim|e2scrub(?:_all|_reap)?|` +
		`xfs_scrub(?:_all)?|btrfs-scrub|systemd-tmpfiles|tmpreaper|tmpwatch|(?:php)?sessionclean|atop-rotate|debian-sa1|sa[12]|sysstat(?:-\w+)?|` +
		`vnstat\w*|checkarray|mdcheck\w*|mdmonitor\w*|smartctl|makewhatis|exim4?_tidydb|aptitude-create-state-bundle)\b`)
	// localDump is a command that only copies, packs or deletes files.
	localDump = regexp.MustCompile(`^(?:cd\s+\S+\s*(?:&&|;)\s*)?(?:/\S*/)?(?:tar|cpio|gzip|xz|zstd|cp|rm|find|mysqldump|mariadb-dump|pg_dump(?:all)?|sqlite3)\s` +
		`[^;&|]*(?:\|\s*(?:gzip|xz|zstd|pigz|bzip2)\b[^;&|]*)?$`)
	// remote is a sign that a command speaks with another machine.
	remote = regexp.MustCompile(`://|[\w.-]@[\w.-]+:|\s(?:-h|--host(?:name)?)[ =]?\S|\b(?:ssh|scp|sftp|rsync|curl|wget|aws|gsutil|gcloud|az|s3cmd|s3|rclone|restic|borg|` +
		`borgmatic|duplicity|git|apt|apt-get|yum|dnf|docker|podman|kubectl|helm|mail|mailx|sendmail|mutt|nc|nfs|ftp|lftp|swift|mc)\b`)
)

// local reports whether the job is housekeeping on its own machine: on a fleet
// it asks nothing of anything shared but the disks below.
func (s *subject) local() bool {
	text := s.Command
	if s.unit != nil {
		text = s.unit.name
	}
	text = strings.ReplaceAll(text, "2>&1", "")
	return !remote.MatchString(text) && (housekeeping.MatchString(text) || localDump.MatchString(text))
}
