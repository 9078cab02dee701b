import BothyStore
import BothySyncService
import Synchronization

/// The replicas of a storage, and the choice of one for a read.
///
/// A read first gets a mark from the primary, which is the end of its log with the head of the space. A replica
/// answers if it has applied the log up to there. A replica may have a commit before the primary's readers see it, such as one that waits
/// for a synchronous standby. So a state with a later head is compared with another mark before it is given out. Then no
/// later read, from whichever server and process, is of an earlier state.
final class ReplicaSet: Sendable {
  private let marks: PrimaryMarks
  private let replicas: [Replica]
  private let admission: ReplicaAdmission
  private let lookInterval: Duration
  private let turn = Atomic<Int>(0)
  private let watches = Mutex<[Task<Void, Never>]>([])

  /// Makes a set of the replicas of a configuration, which aren't used before `watch`.
  init(_ configuration: PostgresServerStorage.Configuration, primary: SessionSettings, queries: Int) {
    marks = PrimaryMarks(primary)
    lookInterval = configuration.replicaLookInterval
    let admission = ReplicaAdmission(knowing: configuration.steps.count)
    self.admission = admission
    replicas = configuration.replicas.enumerated().map { index, address in
      var settings = primary
      (settings.address, settings.target) = (address, "prefer-standby")
      settings.admit = { try admission.check($0) }
      return Replica(
        index + 1, settings, connections: max(1, configuration.connections), queries: queries,
        wait: configuration.replicaWait)
    }
  }

  var present: [ReplicaState] { replicas.map(\.present) }

  func close() {
    watches.withLock { watches in
      for watch in watches { watch.cancel() }
      watches = []
    }
    marks.close()
    for replica in replicas { replica.close() }
  }

  // MARK: reads

  /// Returns what a replica answers, or `nil` if the primary has to.
  func read<Result: Sendable>(
    _ space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result? {
    try await answer(space) { try await $0.read(space, $1, body) }
  }

  /// Like `read`. Throws `CancellationError` or `PostgresServerStorage.Interrupted` at the end of the watch.
  func search<Result: Sendable>(
    _ space: String, _ watch: SearchWatch, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result? {
    try await answer(space) { try await $0.search(space, $1, watch, body) }
  }

  private func answer<Result: Sendable>(
    _ space: String, _ read: (Replica, PrimaryMark) async throws -> Replica.View<Result>
  ) async throws -> Result? {
    guard let replica = next() else { return nil }
    // Without a mark the primary is asked, and its own error is given.
    guard let mark = try? await marks.mark(of: space) else { return nil }
    do {
      let view = try await read(replica, mark)
      if view.head > mark.head {
        let later = try? await marks.mark(of: space)  // as above
        guard let later, later.timeline == mark.timeline, later.epoch == mark.epoch, later.head >= view.head
        else { throw Replica.IsAhead() }
      }
      replica.count(.answered)
      return view.result
    } catch  where error is CancellationError || error is PostgresServerStorage.Interrupted {
      throw error
    } catch {
      replica.failed(error)
      return nil
    }
  }

  /// Returns the replicas that are used by turns.
  private func next() -> Replica? {
    let used = replicas.filter(\.isUsed)
    guard !used.isEmpty else { return nil }
    let turn = turn.wrappingAdd(1, ordering: .relaxed).newValue
    return used[Int(UInt(bitPattern: turn) % UInt(used.count))]
  }

  // MARK: looks

  /// Looks at each replica from now on, and thereby begins to use it. `report` receives a sentence when its state changes.
  func watch(_ database: String, reporting report: @escaping @Sendable (String) -> Void) {
    watches.withLock { watches in
      guard watches.isEmpty else { return }
      watches = replicas.map { replica in
        Task { [self] in await watch(replica, database, report) }
      }
    }
  }

  private func watch(_ replica: Replica, _ database: String, _ report: @Sendable (String) -> Void) async {
    var reported: ReplicaState.Problem?? = .none
    while !Task.isCancelled {
      let reason = await look(at: replica, database)
      let problem = replica.problem
      if reported != .some(problem) {
        let name = "Replica \(replica.number)"
        report(
          problem.map { "\(name) is not used. \($0.rawValue) \(reason ?? "")".trimmed } ?? "\(name) is used.")
      }
      reported = .some(problem)
      do { try await Task.sleep(for: lookInterval) } catch { return }  // cancelled
    }
  }

  /// Looks at a replica. Returns the details of a problem.
  private func look(at replica: Replica, _ database: String) async -> String? {
    let mark: PrimaryMark
    do {
      if !admission.isReady {
        admission.expect(ReplicaAdmission.Origin(cluster: try await marks.cluster(), database: database))
      }
      mark = try await marks.mark(of: "")
    } catch {
      // Nothing is known about a copy of what can't be looked at, so its state stays as it is.
      return "The database was asked for its own position. \(error)"
    }
    do {
      try await replica.look(for: mark)
      return nil
    } catch let refusal as Replica.Refusal {
      replica.leave(refusal.problem)
      return refusal.sentence
    } catch {
      replica.leave(.away)
      return "\(error)"
    }
  }
}

extension String {
  fileprivate var trimmed: String { last == " " ? String(dropLast()) : self }
}
