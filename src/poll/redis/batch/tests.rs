use super::*;

const NEW: Dialect = Dialect { absolute: true, role: true, multi: true };

#[test]
fn a_batch_is_one_transaction() {
    let keys: [&[u8]; 2] = [b"a", b"b"];
    let packed = pack(Form::Text, NEW, keys.into_iter());
    let text = String::from_utf8(packed.bytes).unwrap();
    let words: Vec<&str> = text.split("\r\n").filter(|w| !w.starts_with(['*', '$'])).collect();
    assert_eq!(words.join(" ").trim(), "MULTI TIME MGET a b PEXPIRETIME a PEXPIRETIME b ROLE EXEC");
    assert_eq!(packed.replies, 7);
    let plain = Dialect { multi: false, ..NEW };
    let packed = pack(Form::Text, plain, keys.into_iter());
    let text = String::from_utf8(packed.bytes).unwrap();
    assert!(!text.contains("MULTI") && !text.contains("EXEC\r"), "{text}");
    assert_eq!((packed.replies, text.matches("TIME\r").count()), (6, 4), "TIME after it too");
    let old =
        pack(Form::Long, Dialect { absolute: false, role: false, multi: true }, keys.into_iter());
    assert_eq!(old.replies, 2 + 8 + 1 + 1);
}

#[test]
fn replies_are_traced_to_their_keys() {
    let at = |form, i| member_of(form, 2, i);
    assert_eq!(
        [at(Form::Text, 2), at(Form::Text, 3), at(Form::Text, 4), at(Form::Text, 5)],
        [None, Some(0), Some(1), None]
    );
    assert_eq!(
        [at(Form::Long, 1), at(Form::Long, 2), at(Form::Long, 9), at(Form::Long, 10)],
        [None, Some(0), Some(1), None]
    );
    assert_eq!(at(Form::Denied, 2), None);
}

#[test]
fn a_reply_is_opened_by_columns() {
    let frame = b"*9\r\n*2\r\n$1\r\n5\r\n$1\r\n7\r\n:3\r\n-WRONGTYPE\r\n$1\r\nx\r\n-WRONGTYPE\r\n$1\r\ny\r\n-WRONGTYPE\r\n:-1\r\n:9\r\n";
    let dialect = Dialect { absolute: true, role: false, multi: true };
    let mut expiries = Vec::new();
    let mut exec = open(Form::Long, dialect, 2, Walk::new(frame), &mut expiries).unwrap();
    assert_eq!((exec.time, exec.role), (ServerTime(5_000_007), Role::Unknown));
    assert_eq!(expiries, [Some(-1), Some(9)]);
    assert_eq!((exec.values.int(), exec.heads.bytes()), (Some(3), Some(&b"x"[..])));
    assert_eq!(exec.tails.bytes(), Some(&b"y"[..]));
    assert!(open(Form::Text, dialect, 2, Walk::new(frame), &mut expiries).is_err());
    assert!(open(Form::Hash, NEW, 5, Walk::new(frame), &mut expiries).is_err());
}
