import BothyStore

extension ServerRecord {
  /// The bytes that the record counts with in budgets: its fields, and at least as many as its audience has as JSON.
  ///
  /// A storage that measures the stored JSON ends no sooner than this sum. So a reader knows that it has everything.
  var weight: Int {
    guard !sharing.isEmpty else { return fields.bytes.count }
    // A control character of one byte has six in JSON.
    let names = [sharing.users, sharing.lists].joined().reduce(0) { $0 + 6 * $1.utf8.count + 8 }
    return fields.bytes.count.addingClamped(names + 64)
  }
}
