public import BothyCache
public import BothyStore
internal import Foundation

/// Provides the places around a moving position: fetches missing and old tiles, and reports changes.
///
/// ```swift
/// let map = NearbyMap(places: places, cache: cache, source: tiles, saved: savedPlaces)
/// for await position in positions { try await map.update(position) }
/// ```
///
/// Each tile has one request at a time, also if several callers need it. Runs for different positions are concurrent.
/// Without a network, everything that was fetched and is within the budget remains available.
public actor NearbyMap {
  /// The database of the features of the tiles.
  package nonisolated let places: PlaceStore
  /// The places that a person saved, or `nil` if the app has none.
  package nonisolated let saved: SavedPlaces?
  let loading: TileLoading
  let settings: NearbyMap.Settings
  let clock: LoadClock
  private let changed = Broadcast<TileChange>()
  private let stated = Broadcast<NearbyMap.State>()
  private let connected = Broadcast<NearbyMap.Connectivity>()

  private var throttle = RefreshThrottle()
  private var position: Coordinate?
  var shown = ShownTiles()
  /// The tiles that other versions replaced since changes were last reported.
  var untold: Set<Tile> = []
  var required: [String: Set<Tile>] = [:]
  private var pinned: Set<Tile>?
  var loads: [Tile: (number: Int, task: Task<TileOutcome, Never>)] = [:]
  var loadNumber = 0
  /// The watch over the last loads of stored tiles.
  var watch: ReplacementWatch?
  /// The tiles that running refreshes and fetches need, by their numbers.
  var covers: [Int: [Tile]] = [:]
  var coverNumber = 0
  private var runNumber = 0
  /// True after `close`: the cancelled loads of a run then neither are tried again nor keep tiles.
  private(set) var isClosed = false
  private var snapshotNumber = 0
  private var known: (basis: SnapshotBasis, snapshot: PlaceSnapshot)?
  private var delay = RetryDelay()
  private var recovery: Task<Void, Never>?
  /// True if a needed tile isn't in the database and its request failed, and after an error.
  private var hasHoles = false
  private(set) var hasNetwork = true
  private var hold = ConnectivityHold()
  private var holding: Task<Void, Never>?
  /// The state of the map. `states` reports each change.
  public private(set) var state = NearbyMap.State.waitingForLocation

  /// Creates a map.
  ///
  /// - Parameters:
  ///   - source: the source of the tiles, known to the cache.
  ///   - saved: the tiles of its markers and destination are fetched and pinned too.
  ///   - radius: the metres around the position.
  ///   - zoom: the zoom of the tiles with places, by default 16. Those of OpenMapTiles and Shortbread end at 14, and
  ///     those of Protomaps at 15.
  ///   - lifetime: the age from which a tile is requested again, by default a week.
  ///   - limit: the maximum number of tiles for one position.
  ///   - budget: the bytes that the places and the tiles that they came from may take together, by default 256 MiB.
  ///     Beyond it, the tiles used longest ago are deleted, with their places. Those that are shown or required stay, and
  ///     so do the bytes of tiles that a region has pinned.
  ///   - clock: returns the time and waits. Apps use the clock of the cache.
  public init(
    places: PlaceStore, cache: ResourceCache, source: ResourceSource, saved: SavedPlaces? = nil,
    radius: Double = 500, zoom: Int = 16, lifetime: Duration = .seconds(604_800), limit: Int = 400,
    budget: Int64 = 256 << 20, clock: LoadClock = LoadClock()
  ) {
    var settings = NearbyMap.Settings()
    settings.radius = radius
    settings.zoom = zoom
    settings.lifetime = lifetime.wholeMilliseconds
    settings.limit = limit
    settings.budget = budget
    self.places = places
    self.saved = saved
    self.settings = settings
    self.clock = clock
    loading = TileLoading(places: places, cache: cache, source: source)
    places.reportRepairs(to: cache)
  }

  deinit { places.keep([], for: ObjectIdentifier(self)) }

  /// The changes around the position from now on. Emits only actual changes. A slow reader gets the newest 64.
  public nonisolated var changes: AsyncStream<TileChange> { changed.values(keeping: 64) }

  /// The state, now and after each change.
  public var states: AsyncStream<NearbyMap.State> { stated.values(startingWith: state, keeping: 64) }

  /// The connectivity of the app, which is offline without a network and in the state `.error`. It is online again
  /// three seconds after both have ended.
  package var connectivity: NearbyMap.Connectivity { hold.state }

  /// The connectivity, now and after each change.
  public var connectivities: AsyncStream<NearbyMap.Connectivity> {
    connected.values(startingWith: hold.state, keeping: 64)
  }

  /// The tiles that are shown: those around the position that are in the database.
  package var tiles: Set<Tile> { shown.tiles }

  /// Takes a position and returns the results of the needed tiles. Returns `nil` without further work if the last
  /// position is too near in time or space. On foot, it must be more than 5 seconds and 5 metres away, and 20 seconds
  /// in a vehicle.
  ///
  /// A tile that can't be fetched doesn't throw. The report contains it. After an error, the next position is taken
  /// wherever it is.
  ///
  /// - Parameter vehicleSpeed: metres a second, or `nil` on foot.
  /// - Throws: `BothyError` if the places or the saved places can't be read, or the position has more tiles than the
  ///   limit.
  @discardableResult
  public func update(_ position: Coordinate, vehicleSpeed: Double? = nil) async throws -> NearbyMap.Report? {
    guard throttle.accepts(position, at: clock.wall(), vehicleSpeed: vehicleSpeed) else { return nil }
    self.position = Coordinate(
      latitude: position.latitude, longitude: Geodesy.normalized(longitude: position.longitude))
    do { return try await refresh() } catch {
      throttle.reset()
      throw error
    }
  }

  /// Checks the tiles around the last position again, for example after a time without a network. Returns an empty
  /// report before the first position.
  ///
  /// Throws like `update(_:vehicleSpeed:)`. The map then tries again by itself, as after a request that failed.
  @discardableResult
  public func refresh() async throws -> NearbyMap.Report {
    guard let position else { return NearbyMap.Report() }
    recovery?.cancel()
    recovery = nil
    runNumber += 1
    let run = runNumber
    do { return try await refresh(around: position, run) } catch {
      guard run == runNumber else { throw error }
      hasHoles = true
      if state == .loading { set(.error, run) }
      scheduleRecovery()
      throw error
    }
  }

  private func refresh(around position: Coordinate, _ run: Int) async throws -> NearbyMap.Report {
    try await pinSaved()
    let plan = try await plan(around: position)
    let cover = begin(plan)
    defer { end(cover) }
    // Shown at once: queries can use the available tiles while the others load.
    try await show(plan, run)
    if !plan.stages.isEmpty, !plan.canShow { set(.loading, run) }
    let early = plan.stages.isEmpty ? nil : showEarly(plan, run)
    defer { early?.cancel() }
    var report = NearbyMap.Report()
    for stage in plan.stages {
      await load(stage, current: plan.current, into: &report)
      if plan.tellsCurrent { try await show(plan, run) }
      // Set before the other tiles load, which may take long.
      if report.failed[plan.current] != nil, !plan.canShow { set(.error, run) }
    }
    try await show(plan, run)
    let isHeld = try await loading.held([plan.current])[plan.current] != nil
    if run == runNumber { hasHoles = report.failed.keys.contains { !report.fromStale.contains($0) } }
    set(NearbyMap.State(after: report, current: plan.current, isHeld: isHeld), run)
    if run == runNumber { scheduleRecovery() }
    await keepBudget(plan.cover)
    return report
  }

  /// Fetches missing and old tiles around any position, but doesn't change the map's own position. Waits only for the
  /// tiles of this position.
  ///
  /// - Parameter progress: called after each tile with the number of finished tiles and the total.
  public func fetch(
    around position: Coordinate, progress: (@Sendable (_ done: Int, _ of: Int) -> Void)? = nil
  ) async throws -> NearbyMap.Report {
    let plan = try await plan(around: position, withRequired: false)
    let cover = begin(plan)
    defer { end(cover) }
    var report = NearbyMap.Report()
    let total = plan.stages.reduce(0) { $0 + $1.count }
    for stage in plan.stages {
      await load(stage, current: plan.current, into: &report, waitsForHost: true) { progress?($0, total) }
    }
    if let own = self.position { try await show(self.plan(around: own), runNumber) }
    await keepBudget(plan.cover)
    return report
  }

  /// Makes tiles elsewhere required by a holder, in place of the holder's earlier ones. The next refresh fetches them.
  ///
  /// Required tiles are pinned, so the cache never evicts them. A tile that stays required is pinned throughout.
  public func require(_ tiles: Set<Tile>, for holder: String) async throws {
    try await require(tiles, for: holder, inPlaceOf: nil)
  }

  /// - Parameter zoom: the zoom of the earlier tiles that give way, or `nil` for those of all zooms.
  private func require(_ tiles: Set<Tile>, for holder: String, inPlaceOf zoom: Int?) async throws {
    required[holder] = tiles.isEmpty ? nil : tiles
    let keys = try tiles.map { try loading.source.key($0) }
    let before = try await loading.cache.pins(by: holder).map(\.key)
    noteKept()
    // New pins come first: a process that ends in between leaves too many pins, never too few.
    if !keys.isEmpty { try await loading.cache.pin(keys, by: holder) }
    let gone = Set(before).subtracting(keys).filter { zoom == nil || Tile($0)?.zoom == zoom }
    if !gone.isEmpty { try await loading.cache.unpin(Array(gone), by: holder) }
  }

  /// Returns the places around the position.
  ///
  /// A snapshot is created on the first call for each state of the tiles and saved places, which another process may
  /// change too. It costs one read of each feature of the tiles. Further calls without a change read none.
  public func snapshot() async throws -> PlaceSnapshot {
    let saved = try await savedPlaces()
    let places = places
    let revision = try await loading.run { try places.revision() }
    let basis = SnapshotBasis(tiles: shown.tiles, places: revision, saved: saved)
    if let known, known.basis == basis { return known.snapshot }
    let features = try await loading.run { try places.features(of: basis.tiles) }
    if let known, known.basis == basis { return known.snapshot }  // created meanwhile
    snapshotNumber += 1
    let snapshot = PlaceSnapshot(
      revision: snapshotNumber, tiles: basis.tiles, features: features, saved: saved)
    known = (basis, snapshot)
    return snapshot
  }

  private struct SnapshotBasis: Equatable {
    let tiles: Set<Tile>
    let places: PlaceStore.Revision
    let saved: [SavedPlace]
  }

  /// Deletes all places and unpinned tiles and cancels loads, then fetches what the last position and the required tiles
  /// need. Saved places stay, and so do the tiles of offline regions.
  @discardableResult
  public func clear() async throws -> NearbyMap.Report {
    let places = places
    try await loading.run { try places.clear() }
    for startLoad in loads.values { startLoad.task.cancel() }
    loads = [:]
    try await loading.cache.remove(before: .distantFuture, source: loading.source.id)
    return try await refresh()
  }

  /// Sets the network's state, as a `ReachabilityMonitor` reports it. Without a network, no requests are sent.
  ///
  /// When the network returns, missing and old tiles are fetched at once. They are also fetched if there is a network and
  /// earlier requests failed. The cost of the network doesn't count. Returns `nil` if nothing is fetched.
  @discardableResult
  public func setNetwork(_ network: NetworkState) async throws -> NearbyMap.Report? {
    let isAvailable = network.isReachable != false
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

  /// Requests the tile of a position once. An unchanged tile is a success. Throws `BothyError`, `.refused` without a tile.
  public func checkServer(at position: Coordinate) async throws {
    try await loading.check(Tile(containing: position, zoom: settings.zoom))
  }

  /// Ends the streams and cancels loads. The places and the cache stay open.
  public func close() {
    isClosed = true
    recovery?.cancel()
    holding?.cancel()
    for startLoad in loads.values { startLoad.task.cancel() }
    loads = [:]
    places.keep([], for: ObjectIdentifier(self))
    changed.finish()
    stated.finish()
    connected.finish()
  }
}

/// The steps of a run.
extension NearbyMap {
  private func plan(around position: Coordinate, withRequired: Bool = true) async throws -> NearbyMapPlan {
    let required = withRequired ? self.required.values.reduce(into: Set()) { $0.formUnion($1) } : []
    let cover = try NearbyMapPlan.cover(position, settings)
    let held = try await loading.held(cover + required)
    return try NearbyMapPlan(around: position, held: held, required: required, at: clock.wall(), settings)
  }

  private func savedPlaces() async throws -> [SavedPlace] {
    guard let saved else { return [] }
    return try await loading.run { try saved.saved() }
  }

  /// Makes the tiles of saved places required if they have changed. Those of a map with another zoom stay pinned.
  private func pinSaved() async throws {
    guard let saved else { return }
    let zoom = settings.zoom
    let tiles = try await loading.run { try saved.tiles(zoom: zoom) }
    guard tiles != pinned else { return }
    try await require(tiles, for: "saved places of \(loading.source.id)", inPlaceOf: zoom)
    pinned = tiles
  }

  /// Shows the available tiles of a plan and reports the changes, unless a later position was processed.
  private func show(_ plan: NearbyMapPlan, _ run: Int) async throws {
    let held = try await loading.held(plan.cover)
    guard run == runNumber else { return }
    // Tiles that arrived during this look-up are reported next time, as added.
    let change = shown.show(Set(held.keys), changed: untold)
    untold.subtract(held.keys)
    if let change { changed.send(change) }
  }

  /// Shows the tiles so far, at intervals while a run takes long.
  private func showEarly(_ plan: NearbyMapPlan, _ run: Int) -> Task<Void, Never> {
    Task { [weak self, clock] in
      while (try? await clock.sleep(NearbyMap.Settings.longWait)) != nil {
        // An unreadable database is reported at the end of the run.
        try? await self?.show(plan, run)
      }
    }
  }

  private func set(_ state: NearbyMap.State, _ run: Int) {
    guard run == runNumber, state != self.state else { return }
    self.state = state
    stated.send(state)
    noteConnectivity()
  }

  private func scheduleRecovery() {
    guard hasHoles, hasNetwork, !isClosed else { return delay.reset() }
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
    // If the places can't be read now, the next attempt is scheduled.
    _ = try? await refresh()
  }

  private func noteConnectivity() {
    // A tile that is tried again isn't available yet.
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
