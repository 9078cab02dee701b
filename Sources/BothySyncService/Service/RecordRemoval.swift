import BothyStore

/// A record that left a container, or the sight of some users. Devices with a subscription to the container, or whose
/// user saw the record, receive a request to delete it.
public struct RecordRemoval: Sendable, Hashable {
  /// The position of the change that moved or hid it.
  public var position: Int64
  /// The record that left, in any container now.
  public var id: RecordID
  /// The container that it left.
  public var container: String
  /// The part of the record before the change that decided who saw it, as text; `nil` for a record that left a
  /// container.
  public var former: String?

  /// Makes a departure, for storages.
  public init(position: Int64, id: RecordID, container: String, former: String? = nil) {
    self.position = position
    self.id = id
    self.container = container
    self.former = former
  }

  /// The container in notes that are about no container. It isn't a path.
  static let noContainer = "/"
}
