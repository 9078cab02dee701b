public import BothyCache
public import BothyStore
internal import Foundation

/// Keeps the places around a moving position at hand: fetches the tiles that are missing or old, and tells what changes.
///
///     let atlas = Atlas(places: places, cache: cache, source: source)
///     for await position in positions { try await atlas.update(position) }
///
/// Each tile is asked for once at a time, whoever needs it; runs for different positions go on side by side. Without a
/// network everything that was ever fetched stays to be asked for.
public actor Atlas {
  public nonisolated let places: Places
  private let loading: TileLoading
  private let settings: AtlasSettings
  private let clock: LoadClock
  private let changed = Broadcast<SpatialChange>()
  private let stated = Broadcast<AtlasState>()

  private var throttle = RefreshThrottle()
  private var position: Coordinate?
  private var shown = ShownTiles()
  private var required: [String: Set<Tile>] = [:]
  private var flights: [Tile: (number: Int, task: Task<TileOutcome, Never>)] = [:]
  private var flightNumber = 0
  private var runNumber = 0
  private var delay = RecoveryDelay()
  private var recovery: Task<Void, Never>?
  public private(set) var state = AtlasState.waitingForLocation

  /// - Parameters:
  ///   - source: the tiles' source, known to the cache.
  ///   - clock: tells the time and waits; the cache's own in an app.
  public init(
    places: Places, cache: ResourceCache, source: ResourceSource, settings: AtlasSettings = AtlasSettings(),
    clock: LoadClock = LoadClock()
  ) {
    self.places = places
    self.settings = settings
    self.clock = clock
    loading = TileLoading(places: places, cache: cache, source: source)
  }

  /// What changes around the position from now on. Nothing comes when nothing changed.
  public nonisolated var changes: AsyncStream<SpatialChange> { changed.stream() }

  /// The state, now and whenever it changes.
  public var states: AsyncStream<AtlasState> { stated.stream(startingWith: state) }

  /// The tiles that are shown: those around the position that are held.
  public var tiles: Set<Tile> { shown.tiles }

  /// Takes a position: nil, and nothing is done, when it is too near to the last one in time or space; else what came of
  /// the tiles that were needed. A tile that could not be fetched is no error here, see the report.
  ///
  /// - Parameter vehicleSpeed: metres a second; nil on foot.
  /// - Throws: `GeoError` when the places can't be read.
  @discardableResult
  public func update(_ position: Coordinate, vehicleSpeed: Double? = nil) async throws -> TileSetReport? {
    guard throttle.accepts(position, at: clock.wall(), vehicleSpeed: vehicleSpeed) else { return nil }
    self.position = position
    return try await refresh()
  }

  /// Looks again at the tiles around the last position, as after a time without a network. An empty report when there
  /// was no position yet.
  @discardableResult
  public func refresh() async throws -> TileSetReport {
    guard let position else { return TileSetReport() }
    recovery?.cancel()
    recovery = nil
    runNumber += 1
    let run = runNumber
    let plan = try await plan(around: position)
    // Told at once: everything that is held can be asked for while the rest is on its way.
    try await show(plan, changed: [], run)
    if !plan.stages.isEmpty, !plan.canShow { set(.loading, run) }
    var report = TileSetReport()
    for stage in plan.stages {
      let part = await load(stage, current: plan.current, into: &report)
      try await show(plan, changed: part, run)
      // Known before the others are tried for, which may take long.
      if report.failed[plan.current] != nil, !plan.canShow { set(.error, run) }
    }
    let isHeld = try await held([plan.current])[plan.current] != nil
    let end = AtlasState(after: report, current: plan.current, isHeld: isHeld)
    set(end, run)
    if run == runNumber { scheduleRecovery(end) }
    return report
  }

  /// Fetches what is missing or old around any position, which does not become the atlas's own. Completes with the
  /// tiles of this position alone.
  ///
  /// - Parameter progress: told after each tile how many of how many are done.
  public func fetch(
    around position: Coordinate, progress: (@Sendable (_ done: Int, _ of: Int) -> Void)? = nil
  ) async throws -> TileSetReport {
    let plan = try await plan(around: position, withRequired: false)
    var report = TileSetReport()
    let total = plan.stages.reduce(0) { $0 + $1.count }
    for stage in plan.stages {
      _ = await load(stage, current: plan.current, into: &report, isPatient: true) { progress?($0, total) }
    }
    if let own = self.position { try await show(self.plan(around: own), changed: report.loaded, runNumber) }
    return report
  }

  /// Makes tiles elsewhere required under a name, in place of those before: they are fetched with the next refresh and,
  /// like all that is pinned, never evicted from the cache.
  public func require(_ tiles: Set<Tile>, for holder: String) async throws {
    required[holder] = tiles.isEmpty ? nil : tiles
    let keys = try tiles.map { try loading.source.key($0) }
    try await loading.cache.unpin(by: holder)
    if !keys.isEmpty { try await loading.cache.pin(keys, by: holder) }
  }

  /// Removes all places and tiles, discards what is on its way, and fetches anew what the last position and the required
  /// tiles need.
  @discardableResult
  public func clear() async throws -> TileSetReport {
    let places = places
    try await loading.run { try places.clear() }
    for flight in flights.values { flight.task.cancel() }
    flights = [:]
    try await loading.cache.removeAll(loading.source.id)
    return try await refresh()
  }

  /// Tells that the network may be back: when the tile of the position is missing it is tried for at once.
  @discardableResult
  public func networkChanged() async throws -> TileSetReport? {
    guard state == .error else { return nil }
    delay.reset()
    return try await refresh()
  }

  /// Ends the streams and what is on its way. The places and the cache stay open.
  public func close() {
    recovery?.cancel()
    for flight in flights.values { flight.task.cancel() }
    flights = [:]
    changed.finish()
    stated.finish()
  }
}

extension Atlas {
  private func held(_ tiles: some Sequence<Tile> & Sendable) async throws -> [Tile: Int64] {
    let places = places
    return try await loading.run { try places.held(tiles) }
  }

  private func plan(around position: Coordinate, withRequired: Bool = true) async throws -> AtlasPlan {
    let required = withRequired ? self.required.values.reduce(into: Set()) { $0.formUnion($1) } : []
    let cover = try AtlasPlan.cover(position, settings)
    let held = try await held(cover + required)
    return try AtlasPlan(around: position, held: held, required: required, at: clock.wall(), settings)
  }

  /// Loads tiles side by side and gives back those with new content. What a run for the atlas's own position can't have
  /// is tried for again later, so it waits for no server that is down.
  private func load(
    _ tiles: [Tile], current: Tile, into report: inout TileSetReport, isPatient: Bool = false,
    done: (Int) -> Void = { _ in }
  ) async -> Set<Tile> {
    let held = (try? await held(tiles)) ?? [:]  // unreadable: the loading will tell
    let tasks = tiles.map { tile -> (Tile, Task<TileOutcome, Never>) in
      let priority = tile == current ? LoadPriority.visible : .normal
      return (tile, flight(tile, priority, isHeld: held[tile] != nil, isPatient: isPatient))
    }
    var changed: Set<Tile> = []
    for (tile, task) in tasks {
      let outcome = await task.value
      report.note(tile, outcome, isHeld: held[tile] != nil)
      if case .loaded = outcome { changed.insert(tile) }
      done(report.count)
    }
    return changed
  }

  /// The way to a tile that somebody is on already, or a new one.
  private func flight(
    _ tile: Tile, _ priority: LoadPriority, isHeld: Bool, isPatient: Bool
  ) -> Task<TileOutcome, Never> {
    if let known = flights[tile] { return known.task }
    flightNumber += 1
    let number = flightNumber
    let loading = loading
    let task = Task {
      let outcome = await loading.load(
        tile, priority: priority, isHeld: isHeld, isPatient: isPatient)
      self.land(tile, number)
      return outcome
    }
    flights[tile] = (number, task)
    return task
  }

  private func land(_ tile: Tile, _ number: Int) {
    if flights[tile]?.number == number { flights[tile] = nil }
  }

  /// Shows what is held of a plan's tiles and tells what that changes, unless a later position has been looked at.
  private func show(_ plan: AtlasPlan, changed: Set<Tile>, _ run: Int) async throws {
    let held = try await held(plan.cover)
    guard run == runNumber else { return }
    if let change = shown.show(Set(held.keys), changed: changed) { self.changed.send(change) }
  }

  private func set(_ state: AtlasState, _ run: Int) {
    guard run == runNumber, state != self.state else { return }
    self.state = state
    stated.send(state)
  }

  private func scheduleRecovery(_ state: AtlasState) {
    guard state == .error else { return delay.reset() }
    var generator = SystemRandomNumberGenerator()
    let wait = delay.next(using: &generator)
    let clock = clock
    recovery = Task { [weak self] in
      guard (try? await clock.sleep(wait)) != nil, !Task.isCancelled else { return }
      await self?.recover()
    }
  }

  private func recover() async {
    recovery = nil
    guard state == .error else { return }
    _ = try? await refresh()  // what fails again is tried again later
  }
}
