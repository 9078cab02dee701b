import BothyInspector
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import HTTPTypes
import Logging
import Testing

@Suite("The playground", .timeLimit(.minutes(5)))
struct PlaygroundTests {
  /// Returns two devices, a server that requires the country, and an admitted browser.
  private func play() async throws -> (world: SimulatedWorld, visitor: Visitor) {
    let world = try SimulatedWorld(rules: AccessRules(schema: Playground.schema(isStrict: true)))
    let devices = try ["Ada", "Ben"].map {
      try world.addDevice($0, schema: Playground.schema(isStrict: false))
    }
    let shown = devices.map { device in
      let (store, remote) = (device.store, device.remote)
      return PlayDevice(
        device.name, store: store, isOnline: { !remote.isOffline }, setOnline: { remote.isOffline = !$0 },
        inspector: { "http://127.0.0.1:7001/" })
    }
    let remote = devices[1].remote
    let front = InspectorApp(playing: shown, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    {
      try await remote.query(AnyQuery("Trip"))
    }
    front.opens(at: 7000)
    return (world, await Visitor(entering: front.address, front.answer))
  }

  @Test("The playground has the inspector's access control: one-time token, cookie and own scripts")
  func door() async throws {
    let (world, visitor) = try await play()
    defer { withExtendedLifetime(world) {} }
    let page = await visitor.get("/").text
    #expect(page.contains("two devices") && page.contains(#"src="/assets/play.js""#) && !page.contains("$"))
    #expect(page.contains(#"href="/assets/play.css""#) && page.contains(#"<body class="play">"#))
    #expect(!page.contains("<nav"))
    #expect(await visitor.get("/assets/play.js").status == .ok)
    let stranger = await Visitor(visitor.request).get("/")
    #expect(stranger.status == .unauthorized && stranger.text.contains("Run `bothy demo --open` again"))
    #expect(await visitor.post("/api/play/put", "{}") { $0[.origin] = nil }.status == .forbidden)
    #expect(await visitor.get("/api/overview").status == .notFound)
  }

  @Test("Trips are saved, sent and deleted on either device, online or offline")
  func trips() async throws {
    let (world, visitor) = try await play()
    let devices = world.devices
    #expect(await visitor.post("/api/play/network", #"{"device":"Ada","online":false}"#).status == .ok)
    let made = try await visitor.post(
      "/api/play/put", #"{"device":"Ada","fields":{"title":"Rum","country":"Scotland"}}"#
    ).json
    let id = try #require(made["id"]?.stringValue)
    var ada = try #require(try await visitor.json("/api/play").first("devices", where: "name", is: "Ada"))
    #expect(ada["online"] == false && ada["pending"] == 1 && ada.all("trips", "state") == ["pending"])
    _ = await visitor.post("/api/play/network", #"{"device":"Ada","online":true}"#)
    for device in devices { await device.store.sync() }
    var json = try await visitor.json("/api/play")
    #expect(json["server"]?.all("trips", "id") == [.string(id)])
    #expect(json.first("devices", where: "name", is: "Ben")?.all("trips", "id") == [.string(id)])
    let reported = json.first("devices", where: "name", is: "Ada")
    #expect(reported?["syncs"]?.arrayValue?.contains { $0["pushed"] == 1 } == true)
    #expect(reported?.all("decisions", "verdict") == ["accepted"])
    _ = await visitor.post("/api/play/put", #"{"device":"Ben","id":"\#(id)","fields":{"country":null}}"#)
    await devices[1].store.sync()
    json = try await visitor.json("/api/play")
    let ben = json.first("devices", where: "name", is: "Ben")
    #expect(ben?["rejected"] == 1)
    #expect(await visitor.post("/api/play/delete", #"{"device":"Ada","id":"\#(id)"}"#).status == .ok)
    ada = try #require(try await visitor.json("/api/play").first("devices", where: "name", is: "Ada"))
    #expect(ada["trips"] == [])
  }

  @Test("An impossible action reports its reason")
  func mistakes() async throws {
    let (world, visitor) = try await play()
    defer { withExtendedLifetime(world) {} }
    for (target, body) in [
      ("put", "{}"), ("put", #"{"device":"Cid","fields":{}}"#),
      ("put", #"{"device":"Ada","fields":{"colour":"red"}}"#), ("delete", #"{"device":"Ada"}"#),
    ] {
      let answer = await visitor.post("/api/play/" + target, body)
      #expect(answer.status == .badRequest && answer.text.contains("Reload the page"))
    }
  }
}
