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

  @inlinable package init(_ value: ValueKind) { self.value = value }

  /// True of a field with two columns.
  @inlinable package var isCoordinate: Bool { if case .coordinate = value { true } else { false } }

  /// The effect on the records that refer to a deleted one.
  public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
    /// They are deleted too.
    case cascade
    /// Their reference is cleared (removed from a list).
    case nullify
    /// The deletion is refused while any exist.
    case deny
  }
}
