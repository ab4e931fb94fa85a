//! A process that knows best how long it stood still: each of its threads looks at the clock again and again, and what
//! lies between two looks is a gap. It says nothing of why.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Group, not_tested, wait_until};

/// Written in C: a loop that costs nothing beside its look at the clock, and makes no system call if it spins.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
typedef unsigned long long u64;
/* Looks; since its start: the longest gap, and the longest without the sleep that was meant; the latter since the mark. */
struct record { volatile u64 looks, gap, late, marked, last; u64 pad[3]; };
static struct record *records;
static volatile u64 *mark;
static u64 nap;
static u64 now(void) { struct timespec t; clock_gettime(CLOCK_BOOTTIME, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
static void *watch(void *at) {
  struct record *r = at;
  u64 seen = 0, last = now();
  for (;;) {
    if (nap) { struct timespec t = { nap / 1000000000, nap % 1000000000 }; nanosleep(&t, 0); }
    u64 n = now(), gap = n - last, late = gap > nap ? gap - nap : 0;
    last = r->last = n;
    if (gap > r->gap) r->gap = gap;
    if (late > r->late) r->late = late;
    if (seen != *mark) { seen = *mark; r->marked = 0; }
    else if (late > r->marked) r->marked = late;
    r->looks++;
  }
}
/* Takes the CPU until the clock says that it is enough; the alarm is for a clock that does not. */
static int hog(u64 ms) {
  u64 end = now() + ms * 1000000;
  alarm(2 + ms / 1000);
  while (now() < end) {}
  return 0;
}
int main(int argc, char **argv) {
  if (argc == 2) return hog(strtoull(argv[1], 0, 10));
  int threads = atoi(argv[2]), fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  nap = strtoull(argv[3], 0, 10) * 1000;
  if (fd < 0 || ftruncate(fd, 4096)) return 1;
  char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return 1;
  mark = (volatile u64 *)page;
  records = (struct record *)(page + 64);
  for (int i = 1; i < threads; i++) { pthread_t t; if (pthread_create(&t, 0, watch, records + i)) return 1; }
  watch(records);
}
"#;

/// The compiled program.
pub struct Aviary {
    program: PathBuf,
    dir: PathBuf,
}

impl Aviary {
    /// Compiles it here; `None`, and told, where there is no compiler.
    pub fn build(dir: &Path) -> Option<Self> {
        let (source, program) = (dir.join("canary.c"), dir.join("canary"));
        std::fs::write(&source, SOURCE).expect("the directory is ours");
        let built =
            Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(&source).output();
        match built {
            Ok(output) if output.status.success() => Some(Self { program, dir: dir.to_owned() }),
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(e) => {
                not_tested(&format!("no C compiler: {e}"));
                None
            }
        }
    }

    /// The words that start a program which takes a CPU for so long and then ends by itself: under a real-time policy
    /// nobody else might get the CPU to end it.
    pub fn hog(&self, length: Duration) -> [String; 2] {
        [self.program.display().to_string(), length.as_millis().to_string()]
    }

    /// Starts one whose threads sleep so long between two looks, or spin.
    pub fn canary(&self, name: &str, threads: usize, nap: Duration) -> Canary {
        let page = self.dir.join(format!("{name}.page"));
        let mut command = Command::new(&self.program);
        command.arg(&page).args([threads.to_string(), nap.as_micros().to_string()]);
        let group = Group::start(name, &mut command, &self.dir.join(format!("{name}.log")));
        let canary = Canary { group, page, threads, nap };
        wait_until("the canary sings", Duration::from_secs(20), || {
            let page = std::fs::read(&canary.page).ok().filter(|p| p.len() == 4096)?;
            (0..threads).all(|i| word(&page, i, 0) > 0).then_some(())
        });
        canary
    }
}

/// One canary.
pub struct Canary {
    /// Its process.
    pub group: Group,
    page: PathBuf,
    threads: usize,
    /// How long it sleeps between two looks.
    pub nap: Duration,
}

impl Canary {
    /// From now on it keeps a second record.
    pub fn mark(&self) {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::options().write(true).open(&self.page).expect("the page is ours");
        file.write_all_at(&1u64.to_ne_bytes(), 0).expect("the page is ours");
    }

    /// Longest gap since its start, with the sleep that was meant; the one that goes on counts.
    pub fn longest(&self) -> Duration {
        let page = std::fs::read(&self.page).expect("the page is ours");
        self.worst(&page, 1).max(self.going_on(&page))
    }

    /// Longest gap since the mark, without it.
    pub fn longest_since_mark(&self) -> Duration {
        let page = std::fs::read(&self.page).expect("the page is ours");
        self.worst(&page, 3).max(self.going_on(&page).saturating_sub(self.nap))
    }

    fn going_on(&self, page: &[u8]) -> Duration {
        let now = dlock_exporter::clock::mono().0;
        let last = (0..self.threads).map(|i| word(page, i, 4)).min().unwrap_or(now);
        Duration::from_nanos(now.saturating_sub(last))
    }

    fn worst(&self, page: &[u8], field: usize) -> Duration {
        let all = (0..self.threads).map(|i| word(page, i, field));
        Duration::from_nanos(all.max().unwrap_or(0))
    }
}

fn word(page: &[u8], record: usize, field: usize) -> u64 {
    let at = 64 + record * 64 + field * 8;
    u64::from_ne_bytes(page[at..at + 8].try_into().expect("eight bytes"))
}
