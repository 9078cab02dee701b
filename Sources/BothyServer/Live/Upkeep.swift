import BothySyncService
import Logging
import ServiceLifecycle

/// Keeps the server's files from growing for ever. Once an hour it deletes uploads that were never finished or named,
/// and maintains each space. Once a day it also collects the blobs of each space.
struct Upkeep: Service {
  private let service: SyncService
  private let configuration: ServerConfiguration

  init(_ service: SyncService, _ configuration: ServerConfiguration) {
    self.service = service
    self.configuration = configuration
  }

  func run() async throws {
    try await cancelWhenGracefulShutdown {
      do {
        var round = 0
        while true {
          // Spaces come first, so that uploads that records name are kept.
          await lookAfterSpaces(withBlobs: round % 24 == 0)
          await sweep()
          round += 1
          try await Task.sleep(for: .seconds(3600))
        }
      } catch is CancellationError {
        // The server stops, and this task with it.
      }
    }
  }

  private func sweep() async {
    let age = Int64(configuration.limits.unusedBlobAge / .milliseconds(1))
    do {
      let removed = try await configuration.blobs?.sweep(before: configuration.now() - age) ?? 0
      if removed > 0 { configuration.logger.info("unused blobs removed", metadata: ["count": "\(removed)"]) }
    } catch {
      configuration.logger.error("unused blobs could not be removed", metadata: ["error": "\(error)"])
    }
  }

  private func lookAfterSpaces(withBlobs: Bool) async {
    guard let ledger = configuration.ledger.upkeep else { return }
    do {
      for space in try await ledger.spaces() {
        try Task.checkCancellation()
        let report = try await service.upkeep(space: space, configuration.upkeep, collectsBlobs: withBlobs)
        guard report.floor != nil || report.blobs > 0 else { continue }
        configuration.logger.info(
          "space looked after",
          metadata: [
            "space": "\(LogText.safe(space))", "blobs": "\(report.blobs)",
            "floor": "\(report.floor.map(String.init) ?? "")",
          ])
      }
    } catch is CancellationError {
      // The server stops.
    } catch {
      configuration.logger.error("the spaces could not be looked after", metadata: ["error": "\(error)"])
    }
  }
}
