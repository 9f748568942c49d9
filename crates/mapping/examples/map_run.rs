use mapping::*;
use std::sync::Arc;
use units::Draw;
use workload::tasks::*;
fn metis(path: &str) -> TaskGraph {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|l| !l.starts_with('%'));
    let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let n: u32 = head[0].parse().unwrap();
    let weighted = head.get(2).map_or(false, |f| f.ends_with('1'));
    let mut list = ArcList::new(n);
    for (v, line) in (0..n).zip(lines) {
        let t: Vec<u64> = line.split_whitespace().map(|x| x.parse().unwrap()).collect();
        if weighted {
            for c in t.chunks(2) {
                list.add(v, c[0] as u32 - 1, c[1], 1);
            }
        } else {
            for c in t {
                list.add(v, c as u32 - 1, 1, 1);
            }
        }
    }
    TaskGraph::new("metis", list.build())
}
fn stencil(dims: &[u32]) -> TaskGraph {
    let n: u32 = dims.iter().product();
    let mut list = ArcList::new(n);
    for v in 0..n {
        let mut stride = 1;
        for &d in dims {
            let c = v / stride % d;
            let w = v - c * stride + (c + 1) % d * stride;
            list.add_both(v, w, 1, 1);
            stride *= d;
        }
    }
    TaskGraph::new("stencil", list.build())
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut g = match a[1].strip_prefix("stencil:") {
        Some(d) => stencil(&d.split('x').map(|x| x.parse().unwrap()).collect::<Vec<_>>()),
        None => metis(&a[1]),
    };
    let mut spec = MapSpec::default();
    for s in &a[3..] {
        let (k, v) = s.split_once('=').unwrap();
        match k {
            "strategy" => spec.strategy = serde_json_name(v),
            "budget" => spec.budget = Some(v.parse().unwrap()),
            "seed" => spec.seed = v.parse().unwrap(),
            "imbalance" => spec.imbalance = v.parse().unwrap(),
            "shuffle" => {
                let mut d = workload::Stream::new(v.parse().unwrap(), "shuffle");
                let mut o: Vec<u32> = (0..g.tasks()).collect();
                for l in (1..o.len()).rev() {
                    o.swap(l, d.below(l as u32 + 1) as usize);
                }
                g = g.renumbered(&o);
            }
            _ => panic!(),
        }
    }
    let t = std::time::Instant::now();
    let topo: Arc<dyn topology::Topology> =
        a[2].parse::<topology::TopologySpec>().unwrap().build(std::path::Path::new(".")).unwrap();
    let m = Machine::new(topo, MachineSpec::default()).unwrap();
    eprintln!("setup {:.2}", t.elapsed().as_secs_f64());
    let t = std::time::Instant::now();
    let p = Problem { graph: &g, machine: &m, spec: &spec, fixed: &[], current: None, watch: &Silent };
    let r = strategies::map(&p).unwrap();
    let s = t.elapsed().as_secs_f64();
    let x = measure(&g, &m, &r);
    println!(
        "{} {} {:?}: hops/byte {:.4} imbalance {:.3} {:.2} s",
        a[1].rsplit('/').next().unwrap(),
        a[2],
        spec.strategy,
        x.hops_per_byte,
        x.imbalance,
        s
    );
}
fn serde_json_name(v: &str) -> strategies::StrategyName {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    let d: serde::de::value::StrDeserializer<'_, serde::de::value::Error> = v.into_deserializer();
    strategies::StrategyName::deserialize(d).unwrap()
}
