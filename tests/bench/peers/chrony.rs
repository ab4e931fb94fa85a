//! A chronyd: a scrape of chrony_exporter, which asks it each time, beside one of ours, which asked before.

use super::peer::{self, Peer};
use super::support::{ChronydSetup, ExporterSetup, long};
use super::table::Table;

/// Scrapes in a row.
const IN_A_ROW: usize = 50;

/// Measures and adds to the table.
pub fn compare(table: &mut Table) {
    let Some(program) = peer::find("chrony_exporter") else {
        return table.missing("chrony_exporter, which is not installed".into());
    };
    let chronyd = ChronydSetup::local(8).start();
    let words = [format!("--chrony.address=127.0.0.1:{}", chronyd.port())];
    let theirs = Peer::start(&program, &words, "--web.listen-address=");
    let mut ours =
        ExporterSetup::file(&format!("clocks: {{ here: {{ chrony: '{}' }} }}\n", chronyd.url()))
            .start();
    ours.wait_for("dlock_clock_status", std::time::Duration::from_secs(20), |m| {
        m.sum("dlock_clock_status", &[]) == 1.0
    });
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..if long() { 15 } else { 5 } {
        let begun = (theirs.cpu(), peer::cpu(ours.pid()));
        let mut took = [0.0; 2];
        for _ in 0..IN_A_ROW {
            let (each, text) = theirs.scrape();
            assert!(text.contains("chrony_tracking_"), "{text}");
            took[0] += each;
            took[1] += peer::scrape(ours.address()).0;
        }
        wall.push(took[0] / took[1]);
        // What ours does without being scraped is in it.
        cpu.push((theirs.cpu() - begun.0) / (peer::cpu(ours.pid()) - begun.1).max(0.01));
    }
    let of = format!("chrony_exporter {}", peer::version(&program));
    table.add(&format!("{of}: time of a scrape"), wall);
    table.add("its processor time / ours, both scraped as often", cpu);
}
