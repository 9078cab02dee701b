/// Which of a source's hosts to ask for a resource, as a pure rule.
///
/// A resource always goes to the same host while all are well, so that whatever caches on the way sees each address
/// once. Which host brought the bytes is never part of a key.
enum AliasChoice {
  /// The hosts' places in the order in which to ask them. The first `parallel` share the resources by `spread`; the
  /// others stand in. Those to be avoided come last.
  static func arrange(
    count: Int, parallel: Int, spread: UInt64, isToBeAvoided: (Int) -> Bool
  ) -> [Int] {
    let active = max(1, min(parallel, count))
    let first = Int(spread % UInt64(active))
    let order = (0..<active).map { (first + $0) % active } + Array(active..<max(active, count))
    return order.filter { !isToBeAvoided($0) } + order.filter(isToBeAvoided)
  }
}
