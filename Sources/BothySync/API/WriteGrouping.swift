/// How the server treats the changes of one transaction.
///
/// ```swift
/// try await store.write(.atomic) { transaction in
///   try transaction.insert(Booking(hut: "Corrour"))
///   try transaction.insert(Booking(hut: "Staoineag"))
/// }
/// ```
public enum WriteGrouping: Sendable, Hashable {
  /// Each record by itself. A rejected one delays no other. The local transaction is still one: all of it is
  /// stored or none.
  case independent
  /// All of them or none. If one record is rejected, or the server's version of it is kept, the others do the
  /// same.
  ///
  /// A transaction may have a thousand records at most. They are sent in one request, also after a relaunch.
  case atomic
}
