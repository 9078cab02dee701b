import BothyCache
import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import Testing

@Suite("Terms of providers", .timeLimit(.minutes(5)))
struct ProviderTermsTests {
  /// Promises: A-75
  @Test("A region of a provider that forbids it is refused, whatever the source says")
  func forbidden() async throws {
    let rig = try StyleRig()
    let source = try ResourceSource(
      "osm", template: "https://tile.openstreetmap.org/{z}/{x}/{y}.png", userAgent: "Tests/1 (tests.test)",
      allowsBulkDownload: true)
    try rig.cache.register(source)
    let plan = OfflineRegions.Plan(
      name: "Oslo", source: "osm", area: .box(RegionRig.oslo), zooms: try ZoomRange(0, 3))
    let error = await #expect(throws: BothyError.self) { try await rig.regions.create(plan) }
    #expect(error?.code == .bulkForbidden)
    #expect(error?.message.contains("https://operations.osmfoundation.org/policies/tiles/") == true)
  }

  /// Promises: A-75
  @Test("A style with tiles of such a provider is refused too")
  func style() async throws {
    let rig = try StyleRig()
    rig.server.change { state in
      state.documents[StyleRig.bright] = """
        {"layers": [{"id": "a", "type": "raster", "source": "osm"}],
         "sources": {"osm": {"type": "raster", "tiles": ["https://tile.openstreetmap.org/{z}/{x}/{y}.png"]}}}
        """
    }
    let plan = try await rig.plan("bright", zooms: 0...2)
    let error = await #expect(throws: BothyError.self) { try await rig.regions.create(plan) }
    #expect(error?.code == .bulkForbidden)
    let source = try #require(rig.cache.source("bright/osm"))
    guard case .http(_, _, let otherwise) = source.freshness.base else {
      Issue.record("The rule isn't HTTP's.")
      return
    }
    #expect(otherwise == 7 * 86_400_000, "kept for a week if the server says nothing")
  }

  /// Promises: A-75
  @Test("The dot of the root at the end of a host changes no terms")
  func rootDot() throws {
    #expect(ProviderTerms.of(host: "a.tile.openstreetmap.org.")?.name == "openstreetmap")
    #expect(ProviderTerms.of(host: "tile.openstreetmap.org.test.") == nil)
    let source = try claiming("osm", "https://tile.openstreetmap.org./{z}/{x}/{y}.png")
    let hosts = source.hosts(for: try source.key(zoom: 0, x: 0, y: 0))
    let error = #expect(throws: BothyError.self) { try ProviderTerms.checkBulk(hosts) }
    #expect(error?.code == .bulkForbidden)
  }

  /// Returns a source on a provider that forbids to load in advance, and says otherwise itself.
  private func claiming(_ id: SourceID, _ template: String, _ rule: FreshnessRule = .http) throws
    -> ResourceSource
  {
    try ResourceSource(
      id, template: template, hosts: template.contains("{s}") ? ["a", "b"] : [], freshness: rule,
      userAgent: "Tests/1 (tests.test)", allowsBulkDownload: true)
  }

  /// Promises: A-75
  @Test("Every source of a provider's hosts keeps copies for the time of the terms")
  func lifetime() throws {
    let rig = try StyleRig()
    let own = FreshnessRule.fixed(.days(1))
    let sources = [
      try claiming("plain", "https://{s}.tile.openstreetmap.org/{z}/{x}/{y}.png"),
      try claiming("paths", "https://vector.openstreetmap.org/shortbread_v1"),
      try claiming("other", "https://tiles.test/{z}/{x}/{y}.png"),
      try claiming("own", "https://tile.openstreetmap.org/{z}/{x}/{y}.png", own),
    ]
    for source in sources { try rig.cache.register(source) }
    let week = FreshnessRule.http(otherwise: .days(7)).base
    let rules = try sources.map { try #require(rig.cache.source($0.id)).freshness.base }
    #expect(rules == [week, week, FreshnessRule.http.base, own.base])
  }

  /// Promises: A-75
  @Test("Nothing of such a provider is prefetched, whatever the source says")
  func prefetch() throws {
    let rig = try StyleRig()
    let source = try claiming("osm", "https://tile.openstreetmap.org/{z}/{x}/{y}.png")
    try rig.cache.register(source)
    let (named, addressed) = (
      try source.key(zoom: 3, x: 1, y: 2),
      try #require(rig.cache.source("bright")).key(url: "https://tile.openstreetmap.org/3/1/2.png")
    )
    let ahead = ResourcePrefetcher(rig.cache)
    ahead.pause()
    #expect(ahead.want([named, addressed]) == 0)
    let free = try #require(rig.cache.source("bright")).key(url: "https://maps.test/3/1/2.png")
    #expect(ahead.want([free]) == 1)
  }

  @Test(
    "Providers are found by host, and names that only look alike are others",
    arguments: [
      ("tile.openstreetmap.org", "openstreetmap"), ("a.tile.openstreetmap.org", "openstreetmap"),
      ("tiles.openfreemap.org", "openfreemap"), ("api.protomaps.com", "protomaps"),
      ("tile.thunderforest.com", "thunderforest"), ("vector.openstreetmap.org", "openstreetmap-vector"),
      ("a.basemaps.cartocdn.com", "carto"), ("api.maptiler.com", "maptiler"),
      ("wmts.geo.admin.ch", "swisstopo"), ("tile.openstreetmap.org.evil.test", nil),
      ("mytile.openstreetmap.org", nil), ("maps.test", nil),
    ])
  func hosts(_ host: String, _ name: String?) {
    #expect(ProviderTerms.of(host: host)?.name == name)
  }

  @Test("Providers are listed by name, each with a page and a sentence")
  func list() {
    let names = ProviderTerms.known.map(\.name)
    #expect(names == names.sorted() && Set(names).count == names.count)
    for terms in ProviderTerms.known {
      #expect(!terms.hosts.isEmpty && terms.page.hasPrefix("https://") && terms.remark.hasSuffix("."))
    }
  }

  @Test("A rule that an app chose stays")
  func freshness() throws {
    let terms = try #require(ProviderTerms.of(host: "tile.openstreetmap.org"))
    #expect(terms.applied(to: .fixed(.days(1))).base == FreshnessRule.fixed(.days(1)).base)
    #expect(
      terms.applied(to: .http(otherwise: .days(30))).base == FreshnessRule.http(otherwise: .days(30)).base)
    var shared = FreshnessRule.http
    shared.isShared = true
    #expect(terms.applied(to: shared).isShared)
  }

  @Test("A style's rate of requests holds for all of its sources together")
  func styleRate() async throws {
    let (clock, time, server) = (HastyClock(), VirtualTime(), StyleServer())
    var limits = SourceLimits(requestsPerSecond: 1, burst: 1, attempts: 1)
    (limits.timeout, limits.patienceWithCopy) = (.seconds(86_400), .seconds(86_400))
    let source = try ResourceSource(
      "bright", address: .anywhere, userAgent: "Tests/1 (tests.test)", limits: limits)
    let cache = try ResourceCache(
      sources: [source], loader: server, clock: LoadClock(clock, wall: time.reader()))
    let style = try await MapStyle(at: StyleRig.bright, of: "bright", in: cache)
    for part in style.closure.tiles {
      _ = try await cache.value(ResourceKey(SourceID("bright/\(part.names[0])"), zoom: 3, x: 4, y: 2))
    }
    let sent = server.requests.count
    #expect(sent > style.closure.tiles.count)
    #expect(clock.now.offset > .seconds(sent - 1) - .milliseconds(1))
  }
}
