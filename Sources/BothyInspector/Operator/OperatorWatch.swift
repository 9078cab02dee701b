import BothyStore
import ServiceLifecycle

/// Looks at the servers at intervals, and notifies the page after each look.
///
/// The first look begins with the page. So a server that never answers is shown as such from the start.
final class OperatorWatch: Service {
  let board = Broadcast<InspectorEvent>()
  private let subjects: OperatorSubjects

  init(_ subjects: OperatorSubjects) { self.subjects = subjects }

  func run() async throws {
    await board.run { tasks in
      tasks.addTask { [subjects, board] in
        repeat {
          await subjects.look()
          board.send(InspectorEvent(.operator))
        } while await Self.pause(subjects.interval)
      }
    }
  }

  /// Returns false if the watch has to stop.
  private static func pause(_ interval: Duration) async -> Bool {
    do { try await Task.sleep(for: interval) } catch { return false }
    return true
  }
}
