import BothyCache
import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import GRDB
import HTTPTypes
import Testing

@Suite("An atlas and its network", .timeLimit(.minutes(10)))
struct NearbyMapNetworkTests {
  /// Promises: T-47
  @Test("Offline is reported at once, online only after three seconds")
  func connectivity() async throws {
    let rig = try NearbyMapRig()
    let told = Gathering(await rig.atlas.connectivities)
    try await rig.atlas.update(rig.start)
    #expect(await rig.atlas.connectivity == .online)
    #expect(try await rig.atlas.setNetwork(.notReachable) == nil)
    #expect(await rig.atlas.connectivity == .offline)
    try await rig.atlas.setNetwork(.reachable)
    #expect(await rig.atlas.connectivity == .enteringOnline)
    await rig.clock.waitForSleepers()
    rig.clock.advance(by: .seconds(2))
    // It starts again.
    try await rig.atlas.setNetwork(.notReachable)
    try await rig.atlas.setNetwork(.reachable)
    await rig.clock.waitForSleepers()
    rig.clock.advance(by: .seconds(2))
    #expect(await rig.atlas.connectivity == .enteringOnline)
    rig.clock.advance(by: .seconds(1))
    while await rig.atlas.connectivity != .online { await Task.yield() }
    await rig.atlas.close()
    #expect(
      await told.all() == [.online, .offline, .enteringOnline, .offline, .enteringOnline, .online])
  }

  /// Promises: T-47
  @Test("The app is offline until the tile of the position is available")
  func error() async throws {
    let rig = try NearbyMapRig()
    rig.cache.suspendNetwork()
    try await rig.atlas.update(rig.start)
    #expect(await rig.atlas.connectivity == .offline)
    try await rig.atlas.refresh()
    #expect(await rig.atlas.connectivity == .offline)
    rig.cache.resumeNetwork()
    try await rig.atlas.refresh()
    #expect(await rig.atlas.connectivity == .enteringOnline)
    await rig.atlas.close()
  }

  /// Promises: T-38, T-39
  @Test("An atlas without a network sends no request, and fetches when it returns")
  func noNetwork() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.setNetwork(.notReachable)
    let none = try #require(try await rig.atlas.update(rig.start))
    #expect(Set(none.failed.keys) == rig.cover && rig.server.requests.isEmpty)
    #expect(await rig.atlas.state == .error)
    rig.clock.advance(by: .seconds(3600))
    #expect(try await rig.atlas.setNetwork(.reachable)?.loaded == rig.cover)
    #expect(await rig.atlas.state == .ready)
    rig.server.forget()
    rig.pass(.seconds(8 * 24 * 3600))
    try await rig.atlas.setNetwork(.notReachable)
    #expect(try await rig.atlas.refresh().fromStale == rig.cover)
    #expect(await rig.atlas.state == .ready && rig.server.requests.isEmpty)
    #expect(try await rig.atlas.setNetwork(.reachable)?.unchanged == rig.cover)
    await rig.atlas.close()
  }

  /// Promises: T-46, B-7
  @Test(
    "A server check accepts a tile and an unchanged one, and fails otherwise"
  )
  func check() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.checkServer(at: rig.start)
    #expect(rig.server.requests.count == 1)
    try await rig.atlas.checkServer(at: rig.start)
    #expect(rig.server.requests.count == 2)
    #expect(rig.server.requests.last?.fields[.ifNoneMatch] == "\"v1\"")
    rig.server.set(isDown: true)
    await #expect(throws: BothyError.self) { try await rig.atlas.checkServer(at: rig.start) }
    #expect(await rig.atlas.state == .waitingForLocation)
    await rig.atlas.close()
  }

  /// Promises: T-48
  @Test("Other downloads of an app share the cache, each with its own validator")
  func otherDownloads() async throws {
    let rig = try NearbyMapRig()
    let sounds = try ResourceSource(
      "sounds", template: "https://sounds.example", freshness: .fixed(.zero),
      userAgent: "Tests/1 (tests.example)")
    try rig.cache.register(sounds)
    try await rig.atlas.update(rig.start)
    rig.server.forget()
    rig.server.set(body: "a bell")
    let key = try sounds.key(path: "activities/bell.wav")
    #expect(try await rig.cache.value(key).bytes == Data("a bell".utf8))
    #expect(try await rig.cache.value(key).origin == .confirmed)
    #expect(rig.server.requests.map { $0.fields[.ifNoneMatch] } == [nil, "\"v1\""])
    // Removed here while the server reports no change: the request has no condition.
    try await rig.cache.remove(key)
    #expect(try await rig.cache.value(key).bytes == Data("a bell".utf8))
    #expect(rig.server.requests.last?.fields[.ifNoneMatch] == nil)
    #expect(try rig.places.held(rig.cover).count == rig.cover.count)
    await rig.atlas.close()
  }

  /// Makes the places of a rig unreadable, or readable again.
  private func set(isReadable: Bool, _ rig: NearbyMapRig) async throws {
    let names = isReadable ? ("hidden", "tile") : ("tile", "hidden")
    var configuration = Configuration()
    // The map may be writing.
    configuration.busyMode = .timeout(100)
    let queue = try DatabaseQueue(path: rig.places.path, configuration: configuration)
    try await queue.write { try $0.execute(sql: "ALTER TABLE \(names.0) RENAME TO \(names.1)") }
    try queue.close()
  }

  /// Promises: T-37
  @Test("After an error the position is taken again, and the map tries by itself")
  func unreadable() async throws {
    let rig = try NearbyMapRig()
    rig.cache.suspendNetwork()
    try await set(isReadable: false, rig)
    await #expect(throws: BothyError.self) { try await rig.atlas.update(rig.start) }
    try await set(isReadable: true, rig)
    let report = try #require(try await rig.atlas.update(rig.start))
    #expect(Set(report.failed.keys) == rig.cover)
    try await set(isReadable: false, rig)
    await #expect(throws: BothyError.self) { try await rig.atlas.refresh() }
    try await set(isReadable: true, rig)
    rig.cache.resumeNetwork()
    while await rig.atlas.state == .error {
      rig.clock.advance(by: .seconds(10))
      await Task.yield()
    }
    while await rig.atlas.tiles != rig.cover { await Task.yield() }
    await rig.atlas.close()
  }

  /// Promises: T-37
  @Test("Places that can't be read any more end the loading with an error")
  func unreadableMeanwhile() async throws {
    let rig = try NearbyMapRig()
    rig.server.holdBack()
    let update = Task { try await rig.atlas.update(rig.start) }
    while rig.server.requests.isEmpty { await Task.yield() }
    #expect(await rig.atlas.state == .loading)
    try await set(isReadable: false, rig)
    rig.server.answerAll()
    await #expect(throws: BothyError.self) { try await update.value }
    #expect(await rig.atlas.state == .error)
    await rig.atlas.close()
  }

  @Test("A map that is closed while it loads sends nothing later")
  func closed() async throws {
    let rig = try NearbyMapRig()
    rig.server.set(isDown: true)
    rig.server.holdBack()
    let update = Task { try await rig.atlas.update(rig.start) }
    while rig.server.requests.isEmpty { await Task.yield() }
    await rig.atlas.close()
    rig.server.answerAll()
    _ = try await update.value
    let sent = rig.server.requests.count
    rig.pass(.seconds(3600))
    for _ in 0..<20 {
      rig.clock.advance(by: .seconds(600))
      await Task.yield()
    }
    #expect(rig.server.requests.count == sent && rig.clock.sleepers.isEmpty)
  }
}
