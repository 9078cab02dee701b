/// A reference to another record of type `Target` by its id. The record may be absent from this device. Only an
/// explicit call such as `LocalStore.resolve` reads it.
///
/// ```swift
/// let list = TodoList(name: "Shopping")
/// try await store.save(list)
/// try await store.save(Todo(title: "Buy rope", list: Reference(list)))
/// let ofList = try await store.fetch(Todo.where { $0.list == list })
/// ```
public struct Reference<Target: Entity>: Sendable, Hashable {
  /// The id of the target. Compared byte by byte in queries. It stays when the target is absent or not yet downloaded.
  public var id: String

  /// Creates a reference to a record by its id. The record may be absent.
  ///
  /// Nothing is checked here or by a write on this device. A server with the schema rejects a change that refers to a
  /// record it doesn't have.
  public init(id: String) { self.id = id }
  /// Creates a reference to `target`, by its id alone. The target need not be saved, and later edits of it don't
  /// matter.
  public init(_ target: Target) { id = target.id }

  /// The target, for calls without a Swift type.
  package var recordID: RecordID { RecordID(Target.self, id: id) }
}
