/// The server's summary of one container, without its records.
///
/// Two users may get different numbers, as each counts the records that it may see.
public struct ContainerSummary: Sendable, Hashable {
  /// The container's path. By default a record is in the one with the name of its type.
  public var container: String
  /// The number of live records that the user may see.
  ///
  /// It is at least 1. Containers below this one are counted for themselves.
  public var count: Int
  /// The position of the last change among them.
  ///
  /// A deletion doesn't raise it, and may lower it.
  public var position: Int64

  init(container: String, count: Int, position: Int64) {
    self.container = container
    self.count = count
    self.position = position
  }
}
