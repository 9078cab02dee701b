import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import HTTPTypes
import Testing

@Suite("Loading regions", .timeLimit(.minutes(5)))
struct RegionRunTests {
  @Test("A region is loaded once, a few tiles concurrently, and works without a network")
  func whole() async throws {
    let rig = try RegionRig()
    let plan = try rig.plan()
    let region = try await rig.regions.create(plan)
    #expect(region.state == .waiting && rig.server.requests.isEmpty)
    let done = try await rig.regions.resume(region.id)
    #expect(done.state == .complete && done.completedAt?.milliseconds == rig.time.now)
    #expect(done.progress.done == region.tiles && done.progress.loaded == region.tiles)
    #expect(rig.server.requests.count == region.tiles)
    #expect(try Set(rig.server.paths) == rig.paths(plan))
    #expect(rig.server.most <= 4)
    let stored = try await rig.regions.stored(region.id)
    #expect(stored.count == region.tiles && stored.pinnedCount == region.tiles && stored.bytes > 0)
    _ = try await rig.regions.resume(region.id)
    #expect(rig.server.requests.count == region.tiles, "nothing is asked for twice")
    try rig.regions.close()
    await #expect(throws: BothyError.self) { try await rig.regions.all() }
    let again = try await rig.reopened()
    again.cache.suspendNetwork()
    again.pass(.days(400))
    for tile in try plan.tiles() {
      let resource = try await again.cache.value(again.source.key(tile))
      #expect(resource.bytes == RegionServer.tile("\(tile) v1") && resource.freshness == .stale(.noNetwork))
    }
  }

  @Test("Coarse tiles are loaded first, one by one if concurrency is one")
  func order() async throws {
    let rig = try RegionRig(policy: PrefetchPolicy(concurrentLoads: 1))
    let plan = try rig.plan()
    _ = try await rig.regions.resume(rig.regions.create(plan).id)
    #expect(rig.server.most == 1)
    #expect(try rig.server.paths == plan.tiles().map { "\($0.zoom)/\($0.x)/\($0.y)" })
    #expect(rig.server.paths.first == "0/0/0")
  }

  @Test("Fresh tiles aren't requested, and stale ones have a conditional request")
  func known() async throws {
    let rig = try RegionRig()
    _ = try await rig.cache.value(rig.source.key(zoom: 0, x: 0, y: 0))
    rig.pass(.days(6))
    _ = try await rig.cache.value(rig.source.key(zoom: 1, x: 1, y: 0))
    rig.pass(.days(2))
    rig.server.forget()
    let region = try await rig.regions.create(rig.plan(zooms: 0...3))
    let done = try await rig.regions.resume(region.id)
    #expect(rig.server.paths.sorted() == ["0/0/0", "2/2/1", "3/4/2"])
    #expect(rig.server.requests.filter(\.isConditional).map(\.path) == ["0/0/0"])
    #expect(done.progress.done == 4 && done.progress.loaded == 2 && done.progress.confirmed == 1)
  }

  @Test(
    "An interrupted run continues where it was, again and again",
    arguments: 1...6)
  func interrupted(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    var rig = try RegionRig()
    let plan = try rig.plan()
    let id = try await rig.regions.create(plan).id
    var state = RegionState.waiting
    var rounds = 0
    while state != .complete {
      rounds += 1
      let answers = Int.random(in: 1...12, using: &generator)
      rig.server.change { $0.answers = answers }
      do { state = try await rig.regions.resume(id).state } catch let error as BothyError {
        #expect(error.code == .interrupted)
        let seen = try await rig.regions.region(id)
        #expect(seen.state == .interrupted && seen.reason != nil)
        #expect(seen.progress.failed >= 4 && seen.progress.done == rig.server.requests.count)
      }
      if generator.chance(50) { rig = try await rig.reopened() }
    }
    #expect(rounds > 2)
    #expect(try rig.server.requests.count == plan.tiles().count(), "no tile was asked for twice")
    #expect(try Set(rig.server.paths) == rig.paths(plan))
  }

  @Test("Failed tiles are reported and tried by the next run, nonexistent ones are done")
  func failing() async throws {
    let rig = try RegionRig()
    let plan = try rig.plan()
    let tiles = Array(try plan.tiles())
    let (broken, absent) = (tiles[3].description, tiles[5].description)
    rig.server.change { $0.statuses = [broken: 403, absent: 404] }
    let region = try await rig.regions.create(plan)
    let first = try await rig.regions.resume(region.id)
    #expect(first.state == .partial && first.progress.failed == 1 && first.progress.absent == 1)
    #expect(first.progress.done == tiles.count - 1)
    let failures = try await rig.regions.failures(of: region.id)
    #expect(failures.map(\.tile) == [tiles[3]] && failures.first?.message.contains("403") == true)
    rig.server.change { $0.statuses = [absent: 404] }
    rig.server.forget()
    let second = try await rig.regions.resume(region.id)
    #expect(second.state == .complete && rig.server.paths == [broken])
    #expect(second.progress.absent == 1)
    #expect(try await rig.regions.failures(of: region.id).isEmpty)
  }

  @Test("A server that rejects all requests receives only some of them")
  func refusing() async throws {
    let rig = try RegionRig()
    let plan = try rig.plan(zooms: 0...14)
    let paths = try rig.paths(plan)
    rig.server.change { state in for path in paths { state.statuses[path] = 401 } }
    let region = try await rig.regions.create(plan)
    let error = await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    #expect(error?.code == .interrupted && error?.message.contains("in a row") == true)
    #expect(rig.server.requests.count < 80 && region.tiles > 100)
  }

  @Test("A tile that the server forbids storing is a failure of that tile")
  func notKept() async throws {
    let rig = try RegionRig()
    rig.server.change { $0.fields = [.cacheControl: "no-store"] }
    let region = try await rig.regions.create(rig.plan(zooms: 0...1))
    let done = try await rig.regions.resume(region.id)
    #expect(done.state == .partial && done.progress.failed == 2)
    #expect(try await rig.regions.failures(of: region.id).allSatisfy { $0.message.contains("kept") })
  }

  @Test("Progress begins with the stored tiles and ends with the region")
  func progress() async throws {
    let gate = Latch()
    let rig = try RegionRig(RegionServer(gate: gate))
    let region = try await rig.regions.create(rig.plan())
    async let run = rig.regions.resume(region.id)
    await gate.reached()
    var seen: [RegionProgress] = []
    let stream = rig.regions.progress(of: region.id)
    gate.open()
    for await progress in stream { seen.append(progress) }
    let done = try await run
    #expect(seen.last == done.progress && done.progress.fraction == 1)
    #expect(seen.map(\.done) == seen.map(\.done).sorted() && seen.allSatisfy { $0.total == region.tiles })
    var rest = rig.regions.progress(of: region.id).makeAsyncIterator()
    try await rig.regions.delete(region.id)
    #expect(await rest.next() == nil, "nothing will run")
  }

  @Test("Pausing waits for running requests, and only one run loads a region")
  func pausing() async throws {
    let gate = Latch()
    let rig = try RegionRig(RegionServer(gate: gate))
    // So many tiles that the run looks at the list before the last one.
    let region = try await rig.regions.create(rig.plan(zooms: 0...14))
    async let run = rig.regions.resume(region.id)
    await gate.reached()
    #expect(try await rig.regions.region(region.id).state == .loading)
    let busy = await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    #expect(busy?.code == .regionBusy)
    async let pause: Void = rig.regions.pause(region.id)
    while try await rig.regions.region(region.id).state != .paused { await Task.yield() }
    gate.open()
    try await pause
    let paused = try await run
    #expect(paused.state == .paused && paused.progress.done == rig.server.requests.count)
    #expect(rig.server.requests.count < region.tiles)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.requests.count == region.tiles)
    try await rig.regions.pause(region.id)
    #expect(try await rig.regions.region(region.id).state == .complete, "there is nothing to pause")
  }

  @Test("Pausing and deleting end the wait that a server demands", arguments: [false, true])
  func pausedWait(deletes: Bool) async throws {
    let rig = try RegionRig(clock: HastyClock(endless: .seconds(60)))
    rig.server.change { ($0.statuses, $0.fields) = (["0/0/0": 503], [.retryAfter: "120"]) }
    let region = try await rig.regions.create(rig.plan())
    let run = Task { try await rig.regions.resume(region.id) }
    while rig.server.requests.isEmpty { await Task.yield() }
    if deletes {
      try await rig.regions.delete(region.id)
      let error = await #expect(throws: BothyError.self) { try await run.value }
      #expect(error?.code == .unknownRegion)
    } else {
      try await rig.regions.pause(region.id)
      #expect(try await run.value.state == .paused)
    }
  }

  enum Ending: CaseIterable { case paused, pausedElsewhere, deleted }

  @Test("A pause and a deletion end requests to a server that hangs", arguments: Ending.allCases)
  func hanging(_ ending: Ending) async throws {
    let gate = Latch()
    let rig = try RegionRig(RegionServer(gate: gate))
    try rig.cache.register(RegionRig.source(patience: .seconds(2)))
    let other = try rig.beside()
    let region = try await rig.regions.create(rig.plan())
    let run = Task { try await rig.regions.resume(region.id) }
    await gate.reached()
    switch ending {
    case .paused: try await rig.regions.pause(region.id)
    case .pausedElsewhere:
      try await other.regions.pause(region.id)
      rig.pass(.seconds(1))
    case .deleted:
      try await rig.regions.delete(region.id)
      let error = await #expect(throws: BothyError.self) { try await run.value }
      #expect(error?.code == .unknownRegion)
      return gate.open()
    }
    let paused = try await withDeadline {
      try await withTaskCancellationHandler {
        try await run.value
      } onCancel: {
        run.cancel()
      }
    }
    #expect(paused.state == .paused && paused.progress.done == 0 && paused.progress.failed == 0)
    gate.open()
    #expect(try await rig.regions.resume(region.id).state == .complete)
  }

  @Test("Another process can pause and delete a region that this one loads")
  func otherProcess() async throws {
    let gate = Latch()
    let rig = try RegionRig(RegionServer(gate: gate))
    let other = try rig.beside()
    let region = try await rig.regions.create(rig.plan(zooms: 0...14))
    async let run = rig.regions.resume(region.id)
    await gate.reached()
    #expect(try await other.regions.region(region.id).state == .loading)
    let busy = await #expect(throws: BothyError.self) { try await other.regions.resume(region.id) }
    #expect(busy?.code == .regionBusy)
    try await other.regions.pause(region.id)
    gate.open()
    let ended = try await run
    #expect(ended.state == .paused)
    #expect(rig.server.requests.count < region.tiles)
    #expect(try await other.regions.resume(region.id).state == .complete)
    #expect(rig.server.requests.count == region.tiles)
  }

  @Test("A look at a region's state hinders neither its run nor other looks")
  func looked() async throws {
    let look = Locked<Int32>(-1)
    let clock = HastyClock {
      look.change { number in
        close(number)
        number = -1
      }
    }
    let rig = try RegionRig(clock: clock)
    let region = try await rig.regions.create(rig.plan(zooms: 0...3))
    // The row that a killed run has left.
    let list = try DatabaseQueue(path: rig.scratch.file("regions.sqlite"))
    try await list.write { try $0.execute(sql: "UPDATE region SET state = 'loading'") }
    try list.close()
    // Another process looks at the state, until this one waits.
    let number = open(rig.scratch.file("region-\(region.id).lock"), O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    let isLooking = flock(number, LOCK_SH | LOCK_NB) == 0
    look.change { $0 = number }
    #expect(isLooking)
    #expect(try await rig.regions.region(region.id).state == .interrupted)
    #expect(look.value == number)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(look.value == -1)
  }

  @Test("Cancelling a task ends the run, and the next one continues")
  func cancelled() async throws {
    let gate = Latch()
    let rig = try RegionRig(RegionServer(gate: gate))
    let region = try await rig.regions.create(rig.plan())
    let task = Task { try await rig.regions.resume(region.id) }
    await gate.reached()
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await rig.regions.region(region.id).state == .interrupted)
    #expect(try await rig.regions.resume(region.id).state == .complete)
  }

  @Test("A call of a cancelled task doesn't report that the list is unusable")
  func cancelledBefore() async throws {
    let rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await rig.regions.region(region.id)
    }
    task.cancel()
    let error = await #expect(throws: BothyError.self) { try await task.value }
    #expect(error?.code == .cancelled)
  }

  @Test(
    "Loading waits offline, on metered networks and in power saving, until allowed",
    arguments: [
      (NetworkState.notReachable, PrefetchPolicy.Obstacle.offline),
      (NetworkState(isReachable: true, isExpensive: true), .metered),
      (NetworkState(isReachable: true, isConstrained: true), .constrained),
      (NetworkState(isReachable: true, isLowPower: true), .lowPower),
    ])
  func conditions(network: NetworkState, obstacle: PrefetchPolicy.Obstacle) async throws {
    let rig = try RegionRig()
    rig.regions.setNetwork(network)
    let region = try await rig.regions.create(rig.plan())
    async let run = rig.regions.resume(region.id)
    while try await rig.regions.region(region.id).state != .loading { await Task.yield() }
    var seen: PrefetchPolicy.Obstacle?
    for await progress in rig.regions.progress(of: region.id) where progress.obstacle != nil {
      seen = progress.obstacle
      break
    }
    #expect(seen == obstacle && rig.server.requests.isEmpty)
    rig.regions.setNetwork(.reachable)
    let ended = try await run
    #expect(ended.state == .complete)
  }
}
