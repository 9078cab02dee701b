/// The choice between a source's hosts for a resource, as a pure rule.
///
/// While all hosts are well, a resource always uses the same host, so that caches on the way see each address once. The
/// host of the bytes is never part of a key.
enum AliasChoice {
  /// Returns the places of the hosts in the order of use. The hosts to avoid come last.
  ///
  /// The first `parallel` hosts share the resources by `spread`. The other hosts replace one that fails.
  static func arrange(
    count: Int, parallel: Int, spread: UInt64, isToBeAvoided: (Int) -> Bool
  ) -> [Int] {
    let active = max(1, min(parallel, count))
    let first = Int(spread % UInt64(active))
    let order = (0..<active).map { (first + $0) % active } + Array(active..<max(active, count))
    return order.filter { !isToBeAvoided($0) } + order.filter(isToBeAvoided)
  }
}
