//! Host names in the descriptions of adapters.

/// Words of makers and models: neither the name of a host nor, after a host, the name of a device.
const MAKERS: [&str; 20] = [
    "mellanox",
    "nvidia",
    "intel",
    "qlogic",
    "voltaire",
    "topspin",
    "pathscale",
    "cornelis",
    "technologies",
    "corporation",
    "infiniband",
    "omni-path",
    "truescale",
    "scale",
    "hca",
    "ib-hca",
    "hba",
    "dpu",
    "dx",
    "lx",
];
/// Beginnings of models that a number follows.
const MODELS: [&str; 3] = ["connectx", "bluefield", "infinihost"];

/// Returns the host with which a description begins: `HOST`, or `HOST DEVICE`. An adapter whose driver sets no host is
/// described by its maker (`MT4129 ConnectX7 Mellanox Technologies`), by its device (`mlx5_0`) or as `localhost`.
pub(super) fn host(description: &str) -> Option<&str> {
    let mut words = description.split_whitespace();
    let (host, device) = (words.next()?, words.next());
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let lower = host.to_ascii_lowercase();
    let is_local = lower.split('.').next() == Some("localhost") || lower == "(none)";
    let named = words.next().is_none() && host.bytes().all(letters) && !is_local;
    (named && !is_maker(host) && !is_device(&lower) && !device.is_some_and(is_model_behind)).then_some(host)
}

/// Returns whether a word belongs to a maker or a model.
fn is_maker(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // `MT25408` and `MT_0000000838` are models; `mt01` may be a host.
    let number = |text: &str| digits(text.strip_prefix('_').unwrap_or(text));
    let is_part = word.strip_prefix("MT").is_some_and(number)
        || lower.strip_prefix("mt").is_some_and(|rest| rest.len() >= 4 && number(rest));
    // `ConnectX`, `ConnectX-6`, `ConnectX6Dx` and `BlueField-3` are models; `bluefield01` may be a host.
    let is_model = MODELS.iter().filter_map(|model| lower.strip_prefix(model)).any(|rest| {
        let rest = rest.trim_start_matches(['-', '_']);
        rest.is_empty() || (rest.len() <= 3 && rest.starts_with(|c: char| ('1'..='9').contains(&c)))
    });
    MAKERS.contains(&lower.as_str()) || is_part || is_model
}

/// Returns whether a second word belongs to a model, so that the first one is not a host. `node7 HCA` is a host with a
/// device.
fn is_model_behind(word: &str) -> bool {
    is_maker(word) && !word.eq_ignore_ascii_case("hca")
}

/// Returns whether a word, in lower case, is the name of a device: `mlx5_0`, `mthca0`, `hfi1_0`, `qib0`, `hca-1`.
fn is_device(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let two = |text: &str| text.split_once('_').is_some_and(|(one, other)| digits(one) && digits(other));
    ["mlx", "hfi"].iter().any(|kind| word.strip_prefix(kind).is_some_and(two))
        || ["qib", "mthca", "ipath", "hca", "hca-", "hca_"]
            .iter()
            .any(|kind| word.strip_prefix(kind).is_some_and(digits))
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn hosts_are_told_from_types_of_adapters() {
        // Would catch a rankfile for a host that does not exist, and a host that is lost.
        for host_of in [
            "gpu00 mlx5_0",
            "a01-p1-dgx-01-c01 HCA-2",
            "node7",
            "node7 HCA",
            "node7 hfi1_0",
            "mt01 qib0",
            "bluefield01",
            "hca-login1",
            "intel-node3 mlx4_0",
            "true-north.site.org mlx5_0",
            "gpu_3 ibp12s0",
        ] {
            assert_eq!(host(host_of), host_of.split(' ').next(), "{host_of}");
        }
        for none in [
            "",
            "MT4129 ConnectX7   Mellanox Technologies",
            "Mellanox Technologies",
            "localhost HCA-1",
            "localhost.localdomain mlx5_3",
            "MT25408",
            "MT_0000000838",
            "mt4129",
            "Voltaire HCA410Ex-D",
            "ConnectX-6 Dx",
            "ConnectX-6",
            "connectx6dx",
            "BlueField-3 DPU",
            "Topspin IB-HCA",
            "Infiniband HBA",
            "mlx5_0",
            "HCA-1",
            "hfi1_0",
            "qib0",
            "MT4129 ConnectX7",
            "QLogic TrueScale",
            "True Scale",
            "Intel Omni-Path",
            "HCA",
            "InfiniHost III",
            "n'1",
            "(none) mlx5_0",
        ] {
            assert_eq!(host(none), None, "{none}");
        }
    }
}
