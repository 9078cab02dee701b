package import BothySyncService

extension ServerMaintenance {
  /// Acknowledges one scope in the space's present epoch.
  package func acknowledge(
    space: String, device: String, scope: String, position: Int64, at time: Int64
  ) async throws {
    let epoch = try await read(space: space) { $0.epoch }
    let progress = DeviceProgress(scope: scope, position: position, epoch: epoch)
    _ = try await acknowledge(space: space, device: device, [progress], at: time)
  }
}
