import BothyStore
import Foundation

/// The folder of a simulated world, in memory where that is possible.
///
/// It is deleted with the last object that uses it. A device that is still in use keeps its file when its world is
/// gone.
final class WorldFolder: Sendable {
  private let url: URL

  init() throws {
    let shared = URL(fileURLWithPath: "/dev/shm")
    let parent =
      FileManager.default.fileExists(atPath: shared.path) ? shared : FileManager.default.temporaryDirectory
    url = parent.appendingPathComponent("bothy-world-\(UUIDv7.make())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }  // a folder left behind harms nothing

  /// The path of a file in it.
  func path(of name: String) -> String { url.appendingPathComponent(name).path }
}
