//! What the nodes of each line are to read, made when a line's first node is added. Which keys are whose is not decided here.

use super::Supervisor;
use crate::observe::Line;
use crate::poll::redis::agenda::Agenda;
use crate::poll::redis::events::Feed;
use crate::poll::redis::keys::KeyList;

impl Supervisor {
    /// What the nodes of a line are to read. A line that is new begins to hear its events, if it is to.
    pub(super) fn agenda(&mut self, line: Line) -> Agenda {
        if let Some(agenda) = self.agendas.get(&line) {
            return agenda.clone();
        }
        let (context, links) = (self.context.clone(), self.links.subscribe());
        let agenda = match self.cluster.is_some() {
            false => Agenda::new(self.keys.list(), &context.patterns),
            // The keys of its slots follow.
            true => Agenda::new(KeyList::default(), &[]),
        };
        let keys = agenda.keys.subscribe();
        if let Some(feed) = Feed::new(context, keys, links, line, self.retries.clone()) {
            self.tasks.spawn(feed.run());
        }
        self.agendas.insert(line, agenda.clone());
        agenda
    }
}
