//! Series of what sources tell of a lock: fencing tokens and side effects.

use crate::expose::catalogue::lock as cat;
use crate::expose::sheet::Tiered;
use crate::view::LockView;

/// Adds them.
pub(super) fn add(sheet: &mut Tiered<'_>, store: &str, lock: &LockView) {
    let name = &*lock.name;
    if let Some(fencing) = &lock.told.fencing {
        sheet.add_some(&cat::TOKEN_ISSUED, [store, name], fencing.issued.map(|t| t as f64));
        for (resource, token) in &fencing.accepted {
            let token = token.map(|t| t as f64);
            sheet.add_some(&cat::TOKEN_ACCEPTED, [store, name, resource], token);
        }
        for (resource, n) in &fencing.regressions {
            sheet.add(&cat::FENCING_REGRESSIONS, [store, name, resource], *n as f64);
        }
        for (resource, n) in &fencing.rejections {
            sheet.add(&cat::FENCING_REJECTIONS, [store, name, resource], *n as f64);
        }
    }
    for effects in &lock.told.effects {
        let at = [store, name, &*effects.resource];
        sheet.add(&cat::EFFECTS, at, effects.total as f64);
        let duplicates = effects.duplicates.map(|n| n as f64);
        sheet.add_some(&cat::EFFECT_DUPLICATES, at, duplicates);
    }
}
