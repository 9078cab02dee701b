import BothyPacks
import BothyTestSupport
import Foundation
import Synchronization
import Testing

extension TemporaryFolder {
  /// Returns all files of a folder with their bytes, by name.
  static func contents(of folder: URL) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      contents[name] = FileManager.default.contents(atPath: folder.path + "/" + name) ?? Data()
    }
    return contents
  }
}

/// The files that a pack has opened and closed.
final class FileLog: Sendable {
  private let events = Mutex<[Pack.Event]>([])

  func options(openShards: Int = 8) -> Pack.Options {
    Pack.Options(openShards: openShards) { [self] event in events.withLock { $0.append(event) } }
  }

  var opened: [String] {
    events.withLock { $0 }.compactMap { if case .opened(let file) = $0 { file } else { nil } }
  }

  var closed: [String] {
    events.withLock { $0 }.compactMap { if case .closed(let file) = $0 { file } else { nil } }
  }

  func clear() { events.withLock { $0 = [] } }
}

/// Returns the code of the pack's error that `body` throws. Records any other error.
func code(_ body: () throws -> Void) -> BothyError.Code? {
  do {
    try body()
    Issue.record("Nothing was thrown.")
  } catch let error as BothyError {
    return error.code
  } catch {
    Issue.record("Another error was thrown: \(error)")
  }
  return nil
}

/// Like `code(_:)`, but for asynchronous calls.
func asyncCode(_ body: () async throws -> Void) async -> BothyError.Code? {
  do {
    try await body()
    Issue.record("Nothing was thrown.")
  } catch let error as BothyError {
    return error.code
  } catch {
    Issue.record("Another error was thrown: \(error)")
  }
  return nil
}
