//! The names that a certificate carries beside its subject, as text: DNS names, addresses, e-mail addresses and URIs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// All of them; none of a certificate that cannot be read.
pub fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return Vec::new() };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return Vec::new() };
    names.value.general_names.iter().filter_map(text).collect()
}

fn text(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => {
            Some((*text).to_owned())
        }
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|v4| Ipv4Addr::from(v4).into());
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(|v6| Ipv6Addr::from(v6).into())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_of_names_are_read_and_garbage_has_none() {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.subject_alt_names = vec![
            rcgen::SanType::DnsName("a.example".try_into().unwrap()),
            rcgen::SanType::IpAddress("10.0.0.1".parse().unwrap()),
            rcgen::SanType::IpAddress("2001:db8::1".parse().unwrap()),
            rcgen::SanType::Rfc822Name("a@b.example".try_into().unwrap()),
            rcgen::SanType::URI("spiffe://b.example/prometheus".try_into().unwrap()),
        ];
        let certificate = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        let expected = [
            "a.example",
            "10.0.0.1",
            "2001:db8::1",
            "a@b.example",
            "spiffe://b.example/prometheus",
        ];
        assert_eq!(names(certificate.der()), expected);
        let whole = certificate.der();
        for cut in 0..whole.len() {
            let _ = names(&CertificateDer::from(whole[..cut].to_vec()));
        }
        assert!(names(&CertificateDer::from(vec![0x30, 0x82, 0xff, 0xff])).is_empty());
    }
}
