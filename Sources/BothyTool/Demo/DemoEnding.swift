import BothyStore
import BothySync

/// The end of the demo: the contents of A, B and the server, and if they are equal.
struct DemoEnding {
  var a: ScopeDigest
  var b: ScopeDigest
  var server: ScopeDigest
  var pending: Int

  var isAgreed: Bool {
    a.digest == server.digest && b.digest == server.digest && a.count == server.count
      && b.count == server.count
      && pending == 0
  }

  /// Compares the three and prints the result.
  static func compare(_ a: DemoDevice, _ b: DemoDevice, _ narrator: ProgressPrinter) async throws
    -> DemoEnding
  {
    let ending = DemoEnding(
      a: try a.store.digest(), b: try b.store.digest(), server: try await a.store.maintenance.remoteDigest(),
      pending: try a.store.pendingCounts().total + b.store.pendingCounts().total)
    try narrator.chapter("5. Do they agree?")
    var table = TextTable(["", "records", "digest", "pending"])
    table.add(["A", "\(ending.a.count)", ending.a.digest, "\(try a.store.pendingCounts().total)"])
    table.add(["B", "\(ending.b.count)", ending.b.digest, "\(try b.store.pendingCounts().total)"])
    table.add(["server", "\(ending.server.count)", ending.server.digest, ""])
    let text = table.text(empty: "")
    try narrator.say(text.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))
    try narrator.say(
      "\n" + (ending.isAgreed ? "All three hold the same" : "They do NOT hold the same")
        + " after \(narrator.seconds.shown) s.")
    return ending
  }

  /// Writes `agreed, records, pending, digests`.
  func write(to writer: inout JSONWriter) {
    writer.member("agreed", isAgreed)
    writer.member("records", server.count)
    writer.member("pending", pending)
    writer.object("digests") { writer in
      writer.member("a", a.digest)
      writer.member("b", b.digest)
      writer.member("server", server.digest)
    }
  }
}
