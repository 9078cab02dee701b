import BothyCache
import BothyGeo
import BothyStore
import BothySync
import Foundation
import ServiceLifecycle
import Synchronization

/// Watches for changes of all processes, and notifies all listeners.
///
/// Stores report their own commits. Caches, place files and packs are checked once a second, and the server every five
/// seconds. A check costs no more than some counters and the times of files.
final class Watch: Service {
  let board = Broadcast<InspectorEvent>()
  let timeline = Timeline()
  private let subjects: InspectorSubjects
  private let glance = Mutex(Glance())
  private let reachable = Mutex<Bool?>(nil)

  init(_ subjects: InspectorSubjects) { self.subjects = subjects }

  /// True if the last request reached the server. It is `nil` before the first request and without a server.
  var isReachable: Bool? { reachable.withLock { $0 } }

  /// Watches until the task is cancelled or the service group shuts down. Then the event streams end.
  func run() async throws {
    timeline.add([Timeline.Moment(time: subjects.now, kind: .began, text: "The inspector was opened.")])
    // Commits and syncs from now on are reported, also those before the tasks below begin.
    let commits = subjects.store.store.allCommits.makeAsyncIterator()
    let begin = try Glance(subjects.store)
    glance.withLock { $0 = begin }
    let first = await stamps()
    await board.run { tasks in
      tasks.addTask { await self.followStore(commits) }
      for store in subjects.settings {
        tasks.addTask { for await _ in store.commits { self.board.send(InspectorEvent(.settings)) } }
      }
      tasks.addTask { await self.look(every: .seconds(1), since: first) }
      tasks.addTask { await self.askServer(every: .seconds(5)) }
    }
  }

  private func followStore(_ commits: CommitStream.AsyncIterator) async {
    var commits = commits
    while let notice = await commits.next() {
      noteSyncing()
      board.send(
        InspectorEvent(.store) { writer in
          writer.names("types", notice.records.keys.sorted())
        })
      board.send(InspectorEvent(.settings))
    }
  }

  /// Reports a change that touched no record: a decision on the page, or a sync run from it.
  func noteChange(_ moment: Timeline.Moment) {
    timeline.add([moment])
    noteSyncing()
    board.send(InspectorEvent(.store) { $0.member("types", .array([])) })
    board.send(InspectorEvent(.timeline))
  }

  /// Compares the state of syncing with the previous one. Only one comparison runs at a time, because overlapping ones
  /// could report a step back.
  private func noteSyncing() {
    let isNews = glance.withLock { glance in
      // The store is closed or busy, so the next commit reports the change.
      guard let now = try? Glance(subjects.store) else { return false }
      let moments = now.moments(since: glance, at: subjects.now)
      glance = now
      timeline.add(moments)
      return !moments.isEmpty
    }
    if isNews { board.send(InspectorEvent(.timeline)) }
  }

  private func look(every interval: Duration, since first: Stamps) async {
    var last = first
    while await pause(interval) {
      let now = await stamps()
      if now.caches != last.caches {
        board.send(InspectorEvent(.caches))
        board.send(InspectorEvent(.places))
      }
      if now.places != last.places { board.send(InspectorEvent(.places)) }
      if now.packs != last.packs { board.send(InspectorEvent(.packs)) }
      if now.sync != last.sync { board.send(InspectorEvent(.timeline)) }
      last = now
    }
  }

  private struct Stamps: Equatable {
    var caches: [[SourceID: ResourceCache.Totals]] = []
    var places: [Date?] = []
    var packs: [Date?] = []
    /// The end of the last sync. A failed sync sends no notification.
    var sync: StoreMaintenance.SyncRun?
  }

  private func stamps() async -> Stamps {
    var stamps = Stamps()
    for cache in subjects.caches { stamps.caches.append((try? await cache.cache.totals()) ?? [:]) }
    stamps.places = subjects.places.flatMap {
      [Self.time($0.places.path), Self.time($0.places.path + "-wal")]
    }
    stamps.packs = subjects.packs.flatMap { [Self.time($0), Self.time($0 + "/current")] }
    // The store is closed or busy, so the next check reports the change.
    stamps.sync = (try? await subjects.store.maintenance.syncRuns(limit: 1))?.first
    return stamps
  }

  /// Returns `nil` if the file doesn't exist.
  private static func time(_ path: String) -> Date? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
  }

  private func askServer(every interval: Duration) async {
    guard let server = subjects.server else { return }
    repeat {
      let now = await server.isReachable()
      let old = reachable.withLock { reachable in
        defer { reachable = now }
        return reachable
      }
      guard now != old else { continue }
      board.send(InspectorEvent(.server) { $0.member("reachable", now) })
      timeline.add([
        Timeline.Moment(
          time: subjects.now, kind: .server, text: now ? "The server answers." : "The server does not answer."
        )
      ])
      board.send(InspectorEvent(.timeline))
    } while await pause(interval)
  }

  /// Returns false if the watch has to stop.
  private func pause(_ interval: Duration) async -> Bool {
    do { try await Task.sleep(for: interval) } catch { return false }
    return true
  }
}
