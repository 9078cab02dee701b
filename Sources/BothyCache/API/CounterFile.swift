internal import Foundation
internal import Synchronization

/// The sums of the counters of all processes that used a cache's folder, in `counters.json` there.
///
/// Each process adds its new counts when its cache is flushed or closed. It replaces one small file as a whole under a
/// lock. The counts of a killed process are lost, and an unreadable file starts again from zero. The numbers are for
/// people, and no code depends on them.
final class CounterFile: Sendable {
  private let folder: String
  private let saved = Mutex<[SourceID: CacheCounters]>([:])

  init(folder: String) { self.folder = folder }

  private var path: String { folder + "/counters.json" }

  /// Returns nothing if the file is missing or unreadable.
  func read() -> [SourceID: CacheCounters] {
    guard let data = FileManager.default.contents(atPath: path),
      // starts again from zero
      let counters = try? JSONDecoder().decode([String: CacheCounters].self, from: data)
    else { return [:] }
    return Dictionary(uniqueKeysWithValues: counters.map { (SourceID($0.key), $0.value) })
  }

  /// Adds the counts since the last call. Writes nothing if they are zero.
  func add(_ counted: [SourceID: CacheCounters]) {
    saved.withLock { saved in
      guard counted != saved else { return }
      // A folder that isn't writable keeps its old numbers. The next call tries again.
      guard
        (try? FolderLock(folder + "/counters.lock", timeout: .seconds(1)).writing {
          try write(counted, since: saved)
        }) != nil
      else { return }
      saved = counted
    }
  }

  private func write(_ counted: [SourceID: CacheCounters], since saved: [SourceID: CacheCounters]) throws {
    var sum = read()
    for (source, counters) in counted {
      let before = sum[source, default: CacheCounters()]
      sum[source] = before + counters - (saved[source] ?? CacheCounters())
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let named = Dictionary(uniqueKeysWithValues: sum.map { ($0.key.name, $0.value) })
    try encoder.encode(named).write(to: URL(filePath: path), options: .atomic)
  }
}
