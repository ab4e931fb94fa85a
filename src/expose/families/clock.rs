//! Series of one configured clock.

use crate::expose::catalogue::{Family, clock as cat};
use crate::expose::sheet::{Sheet, flag};
use crate::view::{ClockStatus, ClockView};

/// Parts per million as a ratio.
const PPM: f64 = 1e-6;

/// Adds the clock's series. Fields of the answer are as chronyd gives them; what must not be believed in which state was
/// decided where the offset and the bound come from.
pub fn add(sheet: &mut Sheet, clock: &ClockView) {
    let name = &*clock.name;
    sheet.add(&cat::UP, [name], flag(clock.up));
    if let Some(status) = clock.status {
        for each in ClockStatus::ALL {
            sheet.add(&cat::STATUS, [name, each.as_str()], flag(*each == status));
        }
    }
    sheet.add_some(&cat::OFFSET, [name], clock.offset_seconds);
    sheet.add_some(&cat::ERROR_BOUND, [name], clock.error_bound_seconds);
    let Some(said) = &clock.tracking else { return };
    let values: [(&Family<1>, f64); 8] = [
        (&cat::LAST_OFFSET, said.last_offset),
        (&cat::RMS_OFFSET, said.rms_offset),
        (&cat::ROOT_DELAY, said.root_delay),
        (&cat::ROOT_DISPERSION, said.root_dispersion),
        (&cat::UPDATE_INTERVAL, said.update_interval),
        (&cat::FREQUENCY, said.frequency_ppm * PPM),
        (&cat::FREQUENCY_ERROR, said.skew_ppm * PPM),
        (&cat::STRATUM, f64::from(said.stratum)),
    ];
    for (family, value) in values {
        sheet.add(family, [name], value);
    }
    // 0 stands for never.
    if said.ref_time > 0.0 {
        sheet.add(&cat::REFERENCE, [name], said.ref_time);
    }
}
