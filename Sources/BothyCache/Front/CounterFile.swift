internal import Foundation
internal import Synchronization

/// What the processes that used a cache's folder have counted, added up in `counters.json` there.
///
/// Each adds what it has counted since the last time, when its cache is flushed or closed: one small file, replaced as a
/// whole under a lock. What a killed process had counted is lost, and a file that can't be read is begun anew: these are
/// numbers for people, and nothing rests on them.
final class CounterFile: Sendable {
  private let folder: String
  private let saved = Mutex<[SourceID: CacheCounters]>([:])

  init(folder: String) { self.folder = folder }

  private var path: String { folder + "/counters.json" }

  /// Nothing when there is no file, or none that can be read.
  func read() -> [SourceID: CacheCounters] {
    guard let data = FileManager.default.contents(atPath: path),
      let counters = try? JSONDecoder().decode([String: CacheCounters].self, from: data)  // begun anew
    else { return [:] }
    return Dictionary(uniqueKeysWithValues: counters.map { (SourceID($0.key), $0.value) })
  }

  /// Adds what was counted since the last call. Writes nothing when nothing was.
  func add(_ counted: [SourceID: CacheCounters]) {
    saved.withLock { saved in
      guard counted != saved else { return }
      // A folder that can't be written keeps its old numbers; the next call tries again.
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
