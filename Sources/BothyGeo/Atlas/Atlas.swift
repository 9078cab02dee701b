public import BothyCache
public import BothyStore
internal import Foundation

/// Keeps the places around a moving position at hand: fetches the tiles that are missing or old, and tells what changes.
///
///     let atlas = Atlas(places: places, cache: cache, source: source, saved: UserPlaces(store))
///     for await position in positions { try await atlas.update(position) }
///
/// Each tile is asked for once at a time, whoever needs it; runs for different positions go on side by side. Without a
/// network everything that was ever fetched stays to be asked for.
public actor Atlas {
  /// Where the features of the tiles are kept and asked for.
  public nonisolated let places: Places
  /// What a person did with places; nil where nobody can.
  public nonisolated let saved: UserPlaces?
  let loading: TileLoading
  let settings: AtlasSettings
  let clock: LoadClock
  private let changed = Broadcast<SpatialChange>()
  private let stated = Broadcast<AtlasState>()
  private let connected = Broadcast<ConnectivityState>()

  private var throttle = RefreshThrottle()
  private var position: Coordinate?
  private var shown = ShownTiles()
  /// Replaced by other versions since the last time that changes were told.
  private var untold: Set<Tile> = []
  private var required: [String: Set<Tile>] = [:]
  private var pinned: Set<Tile>?
  private var flights: [Tile: (number: Int, task: Task<TileOutcome, Never>)] = [:]
  private var flightNumber = 0
  private var runNumber = 0
  private var snapshotNumber = 0
  private var known: (basis: SnapshotBasis, snapshot: PlaceSnapshot)?
  private var delay = RecoveryDelay()
  private var recovery: Task<Void, Never>?
  /// Whether a tile that is needed is not held, and could not be fetched.
  private var hasHoles = false
  private var hasNetwork = true
  private var hold = ConnectivityHold()
  private var holding: Task<Void, Never>?
  /// What the atlas is doing; `states` tells of each change.
  public private(set) var state = AtlasState.waitingForLocation

  /// - Parameters:
  ///   - source: the tiles' source, known to the cache.
  ///   - saved: the tiles of its markers and destination are fetched and pinned too.
  ///   - clock: tells the time and waits; the cache's own in an app.
  public init(
    places: Places, cache: ResourceCache, source: ResourceSource, saved: UserPlaces? = nil,
    settings: AtlasSettings = AtlasSettings(), clock: LoadClock = LoadClock()
  ) {
    self.places = places
    self.saved = saved
    self.settings = settings
    self.clock = clock
    loading = TileLoading(places: places, cache: cache, source: source)
  }

  /// What changes around the position from now on. Nothing comes when nothing changed.
  public nonisolated var changes: AsyncStream<SpatialChange> { changed.values(keeping: 64) }

  /// The state, now and whenever it changes.
  public var states: AsyncStream<AtlasState> { stated.values(startingWith: state, keeping: 64) }

  /// Whether the app counts as offline: it does without a network and in the state `.error`, and no more when neither
  /// has been so for three seconds.
  public var connectivity: ConnectivityState { hold.state }

  /// The connectivity, now and whenever it changes.
  public var connectivities: AsyncStream<ConnectivityState> {
    connected.values(startingWith: hold.state, keeping: 64)
  }

  /// The tiles that are shown: those around the position that are held.
  public var tiles: Set<Tile> { shown.tiles }

  /// Takes a position: nil, and nothing is done, when it is too near to the last one in time or space; else what came of
  /// the tiles that were needed. A tile that could not be fetched is no error here, see the report.
  ///
  /// - Parameter vehicleSpeed: metres a second; nil on foot.
  /// - Throws: `GeoError` when the places can't be read, `StoreError` when what was saved can't.
  @discardableResult
  public func update(_ position: Coordinate, vehicleSpeed: Double? = nil) async throws -> TileSetReport? {
    guard throttle.accepts(position, at: clock.wall(), vehicleSpeed: vehicleSpeed) else { return nil }
    self.position = Coordinate(
      latitude: position.latitude, longitude: Geodesy.normalized(longitude: position.longitude))
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
    try await pinSaved()
    let plan = try await plan(around: position)
    // Told at once: everything that is held can be asked for while the rest is on its way.
    try await show(plan, run)
    if !plan.stages.isEmpty, !plan.canShow { set(.loading, run) }
    let early = plan.stages.isEmpty ? nil : showEarly(plan, run)
    defer { early?.cancel() }
    var report = TileSetReport()
    for stage in plan.stages {
      await load(stage, current: plan.current, into: &report)
      if plan.tellsCurrent { try await show(plan, run) }
      // Known before the others are tried for, which may take long.
      if report.failed[plan.current] != nil, !plan.canShow { set(.error, run) }
    }
    try await show(plan, run)
    let isHeld = try await held([plan.current])[plan.current] != nil
    if run == runNumber { hasHoles = report.failed.keys.contains { !report.fromStale.contains($0) } }
    set(AtlasState(after: report, current: plan.current, isHeld: isHeld), run)
    if run == runNumber { scheduleRecovery() }
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
      await load(stage, current: plan.current, into: &report, isPatient: true) { progress?($0, total) }
    }
    if let own = self.position { try await show(self.plan(around: own), runNumber) }
    return report
  }

  /// Makes tiles elsewhere required under a name, in place of those before: they are fetched with the next refresh and,
  /// like all that is pinned, never evicted from the cache. A tile that stays required is pinned throughout.
  public func require(_ tiles: Set<Tile>, for holder: String) async throws {
    required[holder] = tiles.isEmpty ? nil : tiles
    let keys = try tiles.map { try loading.source.key($0) }
    let before = try await loading.cache.pins(by: holder).map(\.key)
    // The new ones first: a process that ends in between leaves too many pins, never too few.
    if !keys.isEmpty { try await loading.cache.pin(keys, by: holder) }
    let gone = Set(before).subtracting(keys)
    if !gone.isEmpty { try await loading.cache.unpin(Array(gone), by: holder) }
  }

  /// The places around as they are now: one value for each state of the tiles and of what is saved, made when it is
  /// first asked for. Costs one read of each feature of the tiles, and nothing while nothing changes.
  public func snapshot() async throws -> PlaceSnapshot {
    let saved = try await savedPlaces()
    let basis = SnapshotBasis(tiles: shown.tiles, places: places.revision, saved: saved)
    if let known, known.basis == basis { return known.snapshot }
    let places = places
    let features = try await loading.run { try places.features(of: basis.tiles) }
    if let known, known.basis == basis { return known.snapshot }  // made meanwhile
    snapshotNumber += 1
    let snapshot = PlaceSnapshot(
      revision: snapshotNumber, tiles: basis.tiles, features: features, saved: saved)
    known = (basis, snapshot)
    return snapshot
  }

  private struct SnapshotBasis: Equatable {
    let tiles: Set<Tile>
    let places: Int
    let saved: [SavedPlace]
  }

  /// Removes all places and tiles, discards what is on its way, and fetches anew what the last position and the required
  /// tiles need. What a person saved stays.
  @discardableResult
  public func clear() async throws -> TileSetReport {
    let places = places
    try await loading.run { try places.clear() }
    for flight in flights.values { flight.task.cancel() }
    flights = [:]
    try await loading.cache.removeAll(loading.source.id)
    return try await refresh()
  }

  /// Tells whether the device has a network. Without one nobody is asked. When one comes back, what is missing or old is
  /// fetched at once, and so it is when one is there and something could not be had; else nil.
  @discardableResult
  public func setNetwork(isAvailable: Bool) async throws -> TileSetReport? {
    let isNew = isAvailable && !hasNetwork
    hasNetwork = isAvailable
    noteConnectivity()
    guard isAvailable else {
      recovery?.cancel()
      recovery = nil
      return nil
    }
    guard position != nil, isNew || hasHoles else { return nil }
    loading.cache.networkChanged()
    delay.reset()
    return try await refresh()
  }

  /// Asks the server for the tile of a position, once, and throws `CacheError` when it has none to give. That nothing has
  /// changed is a good answer.
  public func checkServer(at position: Coordinate) async throws {
    try await loading.check(Tile(containing: position, zoom: settings.zoom))
  }

  /// Ends the streams and what is on its way. The places and the cache stay open.
  public func close() {
    recovery?.cancel()
    holding?.cancel()
    for flight in flights.values { flight.task.cancel() }
    flights = [:]
    changed.finish()
    stated.finish()
    connected.finish()
  }
}

/// What a run does.
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

  private func savedPlaces() async throws -> [SavedPlace] {
    guard let saved else { return [] }
    return try await loading.run { try saved.saved() }
  }

  /// Makes the tiles of what is saved required, when they are others than before.
  private func pinSaved() async throws {
    guard let saved else { return }
    let zoom = settings.zoom
    let tiles = try await loading.run { try saved.tiles(zoom: zoom) }
    guard tiles != pinned else { return }
    try await require(tiles, for: "saved places of \(loading.source.id)")
    pinned = tiles
  }

  /// Loads tiles side by side. What a run for the atlas's own position can't have is tried for again later, so it waits
  /// for no server that is down.
  private func load(
    _ tiles: [Tile], current: Tile, into report: inout TileSetReport, isPatient: Bool = false,
    done: (Int) -> Void = { _ in }
  ) async {
    let held = (try? await held(tiles)) ?? [:]  // unreadable: the loading will tell
    let tasks = tiles.map { tile -> (Tile, Task<TileOutcome, Never>) in
      var way = TileLoading.Way(priority: tile == current ? .visible : .normal)
      way.isHeld = held[tile] != nil
      way.isPatient = isPatient
      way.hasNetwork = hasNetwork
      return (tile, flight(tile, way))
    }
    for (tile, task) in tasks {
      report.note(tile, await task.value, isHeld: held[tile] != nil)
      done(report.count)
    }
  }

  /// The way to a tile that somebody is on already, or a new one.
  private func flight(_ tile: Tile, _ way: TileLoading.Way) -> Task<TileOutcome, Never> {
    if let known = flights[tile] { return known.task }
    flightNumber += 1
    let number = flightNumber
    let loading = loading
    let task = Task {
      let outcome = await loading.load(tile, way)
      self.land(tile, number, outcome)
      return outcome
    }
    flights[tile] = (number, task)
    return task
  }

  private func land(_ tile: Tile, _ number: Int, _ outcome: TileOutcome) {
    // A new one is told of when it is shown, which may have been before this.
    if case .loaded(isNew: false) = outcome { untold.insert(tile) }
    if flights[tile]?.number == number { flights[tile] = nil }
  }

  /// Shows what is held of a plan's tiles and tells what that changes, unless a later position has been looked at.
  private func show(_ plan: AtlasPlan, _ run: Int) async throws {
    let held = try await held(plan.cover)
    guard run == runNumber else { return }
    // Tiles that landed while the others were looked up are told of next time, as added.
    let change = shown.show(Set(held.keys), changed: untold)
    untold.subtract(held.keys)
    if let change { changed.send(change) }
  }

  /// Shows what has come so far, every now and then while a run takes long.
  private func showEarly(_ plan: AtlasPlan, _ run: Int) -> Task<Void, Never> {
    Task { [weak self, clock] in
      while (try? await clock.sleep(AtlasSettings.longWait)) != nil {
        // What can't be read now is told of at the end of the run.
        try? await self?.show(plan, run)
      }
    }
  }

  private func set(_ state: AtlasState, _ run: Int) {
    guard run == runNumber, state != self.state else { return }
    self.state = state
    stated.send(state)
    noteConnectivity()
  }

  private func scheduleRecovery() {
    guard hasHoles, hasNetwork else { return delay.reset() }
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
    guard hasHoles, hasNetwork else { return }
    // When the places can't be read now, they are looked at again later.
    if (try? await refresh()) == nil, recovery == nil { scheduleRecovery() }
  }

  private func noteConnectivity() {
    // What is being tried again is not yet had.
    let isTrying = state == .loading && hold.state == .offline
    guard hold.note(isOffline: !hasNetwork || state == .error || isTrying) else { return }
    holding?.cancel()
    holding = nil
    connected.send(hold.state)
    guard hold.state == .enteringOnline else { return }
    let turn = hold.turn
    holding = Task { [weak self, clock] in
      guard (try? await clock.sleep(ConnectivityHold.length)) != nil else { return }
      await self?.endHold(turn)
    }
  }

  private func endHold(_ turn: Int) {
    if hold.end(turn) { connected.send(hold.state) }
  }
}
