/// The kind of change. The raw values are those of the messages.
public enum ChangeKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// Inserts the record. A conflict if a live record has its id.
  case insert
  /// Updates the record. A conflict unless it is at `base`.
  case update
  /// Deletes the record. A conflict unless it is at `base`.
  case delete
}
