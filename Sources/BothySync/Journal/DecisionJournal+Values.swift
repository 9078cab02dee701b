public import BothyStore
public import Foundation

/// The journal of a value's record, with typed content.
///
/// ```swift
/// for entry in try await store.journal.entries(for: todo) {
///   if let lost = try store.journal.overwritten(Todo.self, in: entry) { print(lost.title, entry.date) }
///   if entry.isRestorable { try await store.journal.restore(entry) }
/// }
/// ```
extension DecisionJournal {
  /// Returns the decisions about a value's record, the newest first. One read of at most `limit` rows.
  public func entries<E: Entity>(for value: E, limit: Int = 50) async throws -> [JournalEntry] {
    let record = RecordID(value)
    return try await FileWork.run { try entries(of: record, limit: limit) }
  }

  /// Returns the local record that a decision replaced, as a value, or `nil` if nothing was lost.
  ///
  /// Sensitive fields are empty. Throws `BothyError` `notRestorable` if the entry is of another type or its content no
  /// longer fits the type.
  public func overwritten<E: Entity>(_ type: E.Type, in entry: JournalEntry) throws -> E? {
    try entry.lost(as: type)
  }
}

extension JournalEntry {
  /// The time of the decision, by the server-corrected clock.
  public var date: Date { Date(timeIntervalSince1970: Double(decided) / 1000) }

  /// The names of the fields whose local value was replaced.
  public var overwrittenFields: Set<String> { Set(lostFields.map(\.name)) }
}
