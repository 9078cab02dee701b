/// The position that a device has reached in one scope.
///
/// `SyncService.acknowledge` makes it of a request's cursors.
public struct DeviceProgress: Sendable, Hashable {
  /// The scope, in the server's short form. To storages it is a name.
  public var scope: String
  /// The position of the device's cursor.
  public var position: Int64
  /// The epoch of the device's cursor.
  public var epoch: String

  /// Makes the progress of one scope, for requests to a storage.
  public init(scope: String, position: Int64, epoch: String) {
    self.scope = scope
    self.position = position
    self.epoch = epoch
  }
}

extension [DeviceProgress] {
  /// Returns what has room among the positions of the user's devices: all, or those of scopes that are noted already.
  ///
  /// - Parameter held: returns the number of positions of the user's devices, counted up to the limit.
  package func fitting(_ known: [String: Int64], held: () throws -> Int) rethrows -> [DeviceProgress] {
    let old = filter { known[$0.scope] != nil }
    let room = FixedLimits.devicePositions - (count - old.count)
    guard old.count < count, try held() > room else { return self }
    return old
  }

  /// Returns true if a scope with a known position is beyond it now.
  package func isAhead(of known: [String: Int64]) -> Bool {
    contains { progress in known[progress.scope].map { $0 < progress.position } ?? false }
  }
}
