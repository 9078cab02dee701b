/// The kind of a field: its columns in SQLite and its JSON. Each type that a field can have declares its own.
///
/// ```swift
/// enum Priority: Int, FieldConvertible { case low, high }
///
/// @Entity struct Errand {
///   var title: String
///   var priority: Priority = .low  // of the kind of `Int`
///   @OnDelete(.cascade) var list: Reference<TodoList>  // a `FieldKind.DeleteRule`
/// }
/// ```
///
/// A type of the app has the kind of its raw value, or is JSON.
public struct FieldKind: Sendable, Hashable {
  @usableFromInline package let value: ValueKind
  /// True of text that is the stored form of a decimal.
  @usableFromInline package let isDecimal: Bool

  @inlinable package init(_ value: ValueKind, isDecimal: Bool = false) {
    self.value = value
    self.isDecimal = isDecimal
  }

  /// True of a field with two columns.
  @inlinable package var isCoordinate: Bool { if case .coordinate = value { true } else { false } }

  /// The effect on the records that refer to a deleted one.
  ///
  /// The store applies it in the transaction of the deletion. The records are found by an index. A deletion by the
  /// server comes with its own effects, so no rule runs for it.
  public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
    /// They are deleted too. Their own referrers follow the rules of their fields. Each deletion is a change of its own
    /// and is synced.
    case cascade
    /// Their reference is cleared (removed from a list). A single reference must be optional, else opening the store
    /// throws `BothyError` `invalidSchema`.
    case nullify
    /// The deletion is refused while any exist. It throws `BothyError` `.denied` and changes nothing. Records that the
    /// same deletion removes don't count.
    case deny
  }
}
