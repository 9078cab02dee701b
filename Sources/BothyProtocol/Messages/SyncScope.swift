import BothyStore

/// A container, with or without the containers below it. The root `""` with its children is the whole space.
///
/// ```swift
/// try await store.subscriptions.set([.container("trips/oslo"), .container("Gear", includingChildren: false)])
/// if try await store.subscriptions.isComplete(.container("trips/oslo")) { show("Ready for the mountains") }
/// ```
public struct SyncScope: Sendable, Hashable, Codable {
  /// A path whose parts are divided by `/`, empty for the root.
  public var container: String
  /// True if the containers below it belong to it.
  public var includesChildren: Bool

  /// Makes a scope, by default of the container alone.
  package init(container: String, includesChildren: Bool = false) {
    self.container = container
    self.includesChildren = includesChildren
  }

  /// All records that the user may read.
  public static let everything = SyncScope(container: "", includesChildren: true)

  /// Makes the scope of a container, by default with those below it.
  public static func container(_ path: String, includingChildren: Bool = true) -> SyncScope {
    SyncScope(container: path, includesChildren: includingChildren)
  }

  /// Returns true if records of `container` belong to the scope. Compares byte by byte, like storages.
  package func contains(_ container: String) -> Bool {
    if container.hasSameBytes(as: self.container) { return true }
    guard includesChildren else { return false }
    return self.container.isEmpty || container.utf8.starts(with: (self.container + "/").utf8)
  }

  /// Returns true if every container of `other` belongs to this scope.
  package func contains(_ other: SyncScope) -> Bool {
    self == other || (includesChildren && contains(other.container))
  }

  /// Returns true if a container may belong to both scopes.
  package func overlaps(_ other: SyncScope) -> Bool {
    contains(other.container) || other.contains(container)
  }
}

extension SyncScope {
  /// Writes the members `container` and, if set, `children` into the open object.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("container", container)
    if includesChildren { writer.member("children", true) }
  }
}
