//! Asks for the types of keys that nothing is known of, and for lengths, so that a value is never fetched before it is
//! known to be small. Each question is a plain command: one refused key costs no other one its answer.

use super::ability::Abilities;
use super::batch::{BATCH, Form, HEAD, MAX_ELEMENTS};
use super::cluster::redirect::Redirect;
use super::codec::Item;
use super::conn::Conn;
use super::failure::{Failure, first_word, is_no_command, is_noperm, is_not_ready};
use super::pack;
use super::pipelined::ASKING;
use super::sweep::Sweeper;
use crate::clock;
use crate::observe::BatchRead;
use crate::observe::lock::Unreadable;

/// What a question about one key was answered by.
enum Answer {
    Kind(Form),
    Text,
    /// A hash, set or sorted set, whose elements have to be counted.
    Counted(Form),
    Length(usize),
    /// It changed its type in between; ask again another time.
    Later,
    Denied(Unreadable),
    /// Another node is to be asked.
    Elsewhere(Redirect),
}

impl Sweeper {
    /// Whether there are keys of unknown type.
    pub fn has_untyped(&self) -> bool {
        !self.untyped.is_empty()
    }

    /// Types as many of them as go into one batch, and reads those at once if `and_read`.
    pub async fn type_some(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        and_read: bool,
    ) -> Result<Vec<BatchRead>, Failure> {
        let places = self.take_untyped(BATCH);
        let types = self.ask(conn, abilities, &places, |_| "TYPE").await?;
        let mut sized = Vec::new();
        let mut denied = Vec::new();
        for (place, answer) in places.iter().zip(types) {
            if !matches!(answer, Answer::Denied(_) | Answer::Elsewhere(_))
                && let Some(slot) = self.slots.get(*place)
            {
                self.refusals.readable(slot.watched.entry, false);
            }
            match answer {
                Answer::Kind(form) => self.settle(*place, Some(form)),
                Answer::Text => sized.push((*place, Form::Text)),
                Answer::Counted(_) if self.slots.get(*place).is_some_and(|s| s.huge) => {
                    self.settle(*place, Some(Form::Opaque));
                }
                // Of any number of members a bounded one is read.
                Answer::Counted(Form::Zset) => self.settle(*place, Some(Form::Zset)),
                Answer::Counted(form) => sized.push((*place, form)),
                Answer::Length(_) | Answer::Later => self.strike(*place),
                Answer::Denied(why) => denied.push((*place, why)),
                Answer::Elsewhere(to) => {
                    self.stray(*place, to);
                    self.settle(*place, Some(Form::Text));
                }
            }
        }
        let asked: Vec<u32> = sized.iter().map(|(place, _)| *place).collect();
        let command = |i: usize| sized.get(i).map_or("STRLEN", |(_, form)| size_of(*form));
        let lengths = self.ask(conn, abilities, &asked, command).await?;
        for ((place, form), answer) in sized.iter().zip(lengths) {
            match answer {
                Answer::Length(n) if form.is_collection() => self.settle_counted(*place, *form, n),
                Answer::Length(n) => self.settle_text(*place, n),
                Answer::Denied(why) => denied.push((*place, why)),
                Answer::Elsewhere(to) => {
                    self.stray(*place, to);
                    self.settle(*place, Some(Form::Text));
                }
                _ => self.strike(*place),
            }
        }
        self.deny(&denied);
        if and_read { self.read_places(conn, abilities, places).await } else { Ok(Vec::new()) }
    }

    /// A string that was long once is never fetched whole again.
    fn settle_text(&mut self, place: u32, len: usize) {
        let long = self.slots.get_mut(place).is_some_and(|slot| {
            slot.long |= len > HEAD;
            slot.long
        });
        self.settle(place, Some(if long { Form::Long } else { Form::Text }));
    }

    fn settle_counted(&mut self, place: u32, form: Form, len: usize) {
        let is_crowded = len > MAX_ELEMENTS;
        if let Some(slot) = self.slots.get_mut(place) {
            slot.crowded = is_crowded.then(clock::mono);
        }
        self.settle(place, Some(if is_crowded { Form::Opaque } else { form }));
    }

    async fn ask(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        places: &[u32],
        command: impl Fn(usize) -> &'static str,
    ) -> Result<Vec<Answer>, Failure> {
        let mut request = Vec::new();
        let asks_first = self.asks_first();
        for (i, place) in places.iter().enumerate() {
            if asks_first {
                request.extend_from_slice(ASKING);
            }
            let key = self.slots.get(*place).map_or(&[][..], |s| &s.watched.key);
            pack::command(&mut request, &[command(i).as_bytes(), key]);
        }
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let step = 1 + usize::from(asks_first);
        conn.exchange(&request, places.len() * step).await?;
        let asked = self.membership.is_some().then(|| self.host());
        let mut answers = Vec::with_capacity(places.len());
        for (i, place) in places.iter().enumerate() {
            let long = self.slots.get(*place).is_some_and(|s| s.long);
            let reply = conn.walk(i * step + step - 1).next();
            let item = reply.ok_or_else(|| Failure::unexpected(command(i)))?;
            if let (Some(asked), Item::Error(e)) = (asked, &item)
                && let Some(to) = Redirect::read(e, asked)
            {
                answers.push(Answer::Elsewhere(to));
                continue;
            }
            if !matches!(item, Item::Error(_)) {
                abilities.granted(acl_name(command(i)));
            }
            answers.push(match item {
                Item::Error(e) if is_not_ready(e) || first_word(e) == b"NOAUTH" => {
                    return Err(Failure::server(command(i), e));
                }
                Item::Error(e) if is_noperm(e) || is_no_command(e) => {
                    if is_no_command(e) {
                        abilities.refuse(acl_name(command(i)));
                    }
                    Answer::Denied(Unreadable::Permission)
                }
                Item::Error(e) if first_word(e) == b"WRONGTYPE" => Answer::Later,
                Item::Simple(b"none") => Answer::Kind(if long { Form::Long } else { Form::Text }),
                Item::Simple(b"string") => Answer::Text,
                Item::Simple(b"hash") => Answer::Counted(Form::Hash),
                Item::Simple(b"zset") => Answer::Counted(Form::Zset),
                Item::Simple(b"set") => Answer::Counted(Form::Set),
                Item::Simple(_) => Answer::Kind(Form::Opaque),
                Item::Int(n) => Answer::Length(usize::try_from(n).unwrap_or(usize::MAX)),
                _ => Answer::Denied(Unreadable::Unexpected),
            });
        }
        Ok(answers)
    }
}

/// The command that tells the size of a value.
fn size_of(form: Form) -> &'static str {
    match form {
        Form::Hash => "HLEN",
        Form::Set => "SCARD",
        _ => "STRLEN",
    }
}

fn acl_name(command: &str) -> &'static str {
    match command {
        "TYPE" => "type",
        "HLEN" => "hlen",
        "SCARD" => "scard",
        _ => "strlen",
    }
}
