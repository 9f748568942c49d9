//! InfraGraph infrastructures: files that the package `infragraph` 3.1.0 wrote, and one error for each bad file.

use std::sync::atomic::{AtomicU32, Ordering};

use mapping::{Machine, MachineSource};
use topology::{Endpoint, Topology};
use units::{LocatedError, NodeId, PortId, RouterId};

/// `ClosFatTreeFabric(Switch(4), Server(), 2, [100, 200])`: 4 hosts with 2 interfaces, 4 leaves, 2 spines.
const CLOS: &str = include_str!("infragraph/clos.yaml");
const CLOS_JSON: &str = include_str!("infragraph/clos.json");

fn read(text: &str) -> Result<Machine, LocatedError> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let name = format!("cutthrough-infragraph-{}-{}", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("net.yaml"), text).unwrap();
    let found = MachineSource { machine: "net.yaml".into(), ..MachineSource::default() }.read(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    found
}

fn refused(text: &str) -> String {
    read(text).map(|_| ()).unwrap_err().to_string()
}

/// Returns the wires: class, and both routers.
fn wires(topology: &dyn Topology) -> Vec<(String, u32, u32)> {
    let mut found = Vec::new();
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(PortId) {
            if let Endpoint::Router(next, _) = topology.endpoint(router, port)
                && router < next
            {
                let class = topology.class_names()[usize::from(topology.class(router, port).0)].to_owned();
                found.push((class, router.0, next.0));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_clos_fabric_of_the_package_is_a_tree() {
    // Would catch slices, copies of devices and links that are read otherwise. Leaf i has both interfaces of host i, and
    // a wire to each spine (routers 4 and 5).
    for text in [CLOS, CLOS_JSON] {
        let machine = read(text).unwrap();
        let topology = machine.topology();
        let homes: Vec<u32> = (0..topology.nodes()).map(|node| topology.attachment(NodeId(node)).0.0).collect();
        assert_eq!(homes, [0, 0, 1, 1, 2, 2, 3, 3]);
        let due: Vec<_> = (0..4).flat_map(|leaf| [4, 5].map(|spine| ("tier_1_link".to_owned(), leaf, spine))).collect();
        assert_eq!(wires(&**topology), due);
        let about = machine.about();
        let names = about.names.as_ref().unwrap();
        assert_eq!((&*names[0], &*names[3]), ("server.0.nic.0", "server.1.nic.1"));
        let homes = about.homes.as_ref().unwrap();
        assert_eq!((homes[3].host.as_deref(), homes[3].slot), (Some("server.1"), 1));
        assert_eq!(
            about.notes,
            [
                "7 edges within devices are left out",
                "8 wires are of the link `tier_0_link`, of 100 Gb/s",
                "8 wires are of the link `tier_1_link`, of 200 Gb/s",
            ]
        );
    }
}

/// Two hosts with an adapter of two ports, and two switches. Marks are replaced by edges.
const SMALL: &str = "name: small
devices:
- {name: nic, components: [{name: port, count: 2, choice: port}], links: [], edges: []}
- {name: host, components: [{name: gpu, count: 1, choice: xpu}, {name: nic, count: 1, choice: device}], links: [], edges: []}
- {name: switch, components: [{name: port, count: 4, choice: port}, {name: asic, count: 1, choice: cpu}], links: [], edges: []}
links:
- {name: 4x (b), physical: {bandwidth: {choice: gigabytes_per_second, gigabytes_per_second: 50}, latency: {choice: ns, ns: 5}}}
instances:
- {name: h, device: host, count: 2}
- {name: s, device: switch, count: 2}
edges:
- {ep1: {instance: 'h[0]', component: 'nic[0].port[:]'}, ep2: {instance: 's[0]', component: 'port[0:2]'}, scheme: one2one, link: 4x (b)}
- {ep1: {instance: 'h[-1]', component: 'nic[0].port[0]'}, ep2: {instance: 's[1]', component: 'port[0]'}, scheme: one2one, link: 4x (b)}
- {ep1: {instance: 's', component: 'port[2]'}, ep2: {instance: 's', component: 'port[2]'}, scheme: many2many, link: 4x (b)}
";

#[test]
fn devices_in_devices_and_links_have_their_names() {
    // Would catch a pair of `many2many` that counts twice, and a name of a link that is no class.
    let machine = read(SMALL).unwrap();
    assert_eq!(wires(&**machine.topology()), [("link_4x__b_".to_owned(), 0, 1)]);
    assert_eq!(**machine.about().names.as_ref().unwrap(), ["h.0.nic.0.port.0", "h.0.nic.0.port.1", "h.1.nic.0.port.0"]);
    let notes = ["4 wires are of the link `4x (b)`, of 400 Gb/s", "1 latency of a link is left out"];
    assert_eq!(machine.about().notes, notes);
}

#[test]
fn what_is_no_network_is_named() {
    // Would catch an edge that is dropped or guessed. Edges are counted from 1, with the line of an endpoint.
    let with = |old: &str, new: &str| {
        assert!(SMALL.contains(old), "{old}");
        refused(&SMALL.replacen(old, new, 1))
    };
    for (old, new, due) in [
        (
            "'s[0]', component: 'port[0:2]'",
            "'h[1]', component: 'nic[0].port[:]'",
            "are both of hosts, which do not forward packets",
        ),
        (
            "one2one, link: 4x (b)}\n- {ep1: {instance: 'h[-1]'",
            "ring, link: 4x (b)}\n- {ep1: {instance: 'h[-1]'",
            "edge 1 (",
        ),
        ("scheme: many2many, ", "", "edge 3 (`s` `port[2]` to `s` `port[2]`): it has no `scheme`"),
        ("'port[0:2]'", "'port[0:3]'", "`one2one` of 2 and 3 endpoints"),
        ("'h[-1]'", "'h[2]'", "the index 2, where there are 2"),
        ("'h[-1]'", "'g'", "`g` is no instance; there are h, s"),
        (
            "'s[1]', component: 'port[0]'",
            "'s[1]', component: 'prt[0]'",
            "`prt` is no component of `switch`, which has port, asic",
        ),
        ("'s[1]', component: 'port[0]'", "'s[1]', component: 'port[2]'", "the port s.1.port.2 has two wires"),
        ("'s[1]', component: 'port[0]'", "'s[1]', component: 'port[0'", "is no name with a slice"),
        ("link: 4x (b)}\n- {ep1: {instance: 's'", "link: b}\n- {ep1: {instance: 's'", "the link `b` is not in `links`"),
        ("device: switch", "device: hub", "the instance `s` is of the unknown device `hub`"),
        (
            "{name: gpu, count: 1, choice: xpu}, {name: nic",
            "{name: cx",
            "the component `cx` of `host` is an unknown device",
        ),
        ("gigabytes_per_second, gigabytes", "gigabits_per_second, gigabytes", "not in the unit of `choice`"),
        ("gigabytes_per_second: 50", "gigabytes_per_second: -1", "the bandwidth -8 is not from 0 to 1e9"),
        ("name: small", "nme: small", "unknown field `nme`"),
        ("- {name: s, device", "- {name: h, device", "the instance `h` is there twice"),
    ] {
        let found = with(old, new);
        assert!(found.contains(due), "{new}: {found}");
    }
    // A file that is cut off before its instances is still of this format.
    let (cut, _) = SMALL.split_once("instances:").unwrap();
    assert!(refused(cut).contains("it is no InfraGraph infrastructure: missing field `instances`"), "{}", refused(cut));
    let alone = SMALL.split("- {ep1: {instance: 's', ").next().unwrap();
    assert!(refused(alone).contains("it is not connected: no path leads from s.0 to s.1"));
}
