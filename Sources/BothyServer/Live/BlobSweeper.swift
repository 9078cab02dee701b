import BothySync
import Logging
import ServiceLifecycle

/// Clears once an hour what was uploaded and never named by a record. What records once named stays.
struct BlobSweeper: Service {
  private let configuration: ServerConfiguration

  init(_ configuration: ServerConfiguration) { self.configuration = configuration }

  func run() async throws {
    try await cancelWhenGracefulShutdown {
      do {
        while true {
          await sweep()
          try await Task.sleep(for: .seconds(3600))
        }
      } catch is CancellationError {
        // The server stops; so does the sweeping.
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
}
