import BothyInspector
import BothyStore
import BothySync
import HTTPTypes
import Testing

@Suite("Pending work on the page", .timeLimit(.minutes(5)))
struct PendingAnswerTests {
  @Test("Each entry shows why it is pending")
  func reasons() async throws {
    let device = try InspectedDevice()
    try await device.put("plain", ["title": "Plain"])
    try await device.store.save(
      AnyRecord("Trip", id: "draft", ["title": "Draft"]),
      options: RequestOptions(writePolicy: .draft))
    try await device.put("child", of: "Stop", ["name": "Bridge", "trip": "draft"])
    let json = try await device.visitor().json("/api/outbox")
    func waits(_ id: String) -> JSONValue? {
      json.first("entries", where: "id", is: .string(id))?["waitsFor"]
    }
    #expect(waits("plain") == ["what": "nextSync"])
    #expect(waits("draft") == ["what": "draft"])
    #expect(waits("child") == ["what": "reference", "record": ["type": "Trip", "id": "draft"]])
    #expect(json["total"] == 3 && json["server"] == true && json["next"] == .null)
  }

  @Test("A rejected entry waits for its time, an often rejected one for a decision")
  func refusals() async throws {
    for (policy, expected) in [
      (SyncOptions.RejectionPolicy.keepPending, "retry"), (.quarantine(after: 1), "decision"),
    ] {
      let device = try InspectedDevice(rejections: policy)
      try await device.put("nowhere", ["title": "Nowhere"])
      await device.store.sync()
      let json = try await device.visitor().json("/api/outbox")
      #expect(json["entries"]?.arrayValue?.first?["waitsFor"]?["what"]?.stringValue == expected)
    }
  }

  @Test("A long outbox has pages")
  func pages() async throws {
    let device = try InspectedDevice()
    for number in 0..<7 { try await device.put("t\(number)", ["title": "T"]) }
    let visitor = try await device.visitor()
    let first = try await visitor.json("/api/outbox?limit=5")
    #expect(first.all("entries", "id") == ["t0", "t1", "t2", "t3", "t4"] && first["total"] == 7)
    #expect(first["next"] == ["type": "Trip", "id": "t4"])
    let second = try await visitor.json("/api/outbox?limit=5&afterType=Trip&afterID=t4")
    #expect(second.all("entries", "id") == ["t5", "t6"] && second["next"] == .null)
  }

  @Test("A rejected change has the server's message, and both sides of each field")
  func rejected() async throws {
    let device = try InspectedDevice()
    try await device.refused()
    let json = try await device.visitor().json("/api/rejected")
    #expect(json.all("entries", "id") == ["nowhere", "oslo"])
    let entry = try #require(json.first("entries", where: "id", is: "oslo"))
    #expect(entry["reason"]?["fields"]?.arrayValue?.first?["field"] == "country")
    #expect(entry["attempts"] == 1 && entry["comparison"]?.arrayValue?.count == 3)
  }

  @Test("Each decision changes the store like the tool's", arguments: Outbox.Decision.allCases)
  func decisions(_ resolution: Outbox.Decision) async throws {
    let device = try InspectedDevice()
    try await device.refused()
    let visitor = try await device.visitor()
    let oslo = RecordID(type: "Trip", id: "oslo")
    let answer = await visitor.post(
      "/api/resolve", #"{"type":"Trip","id":"oslo","resolution":"\#(resolution.rawValue)"}"#)
    #expect(answer.status == .ok)
    let title = try device.store.store.record(oslo)?["title"]
    let entry = try device.store.pendingEntry(oslo)
    switch resolution {
    case .retry: #expect(title == "Oslo again" && entry?.attempts == 0)
    case .keepLocal: #expect(title == "Oslo again" && entry == nil)
    case .revert: #expect(title == "Oslo" && entry == nil)
    case .removeLocal: #expect(title == nil && entry == nil)
    }
    #expect(try answer.json["state"]?.stringValue == device.store.state(of: oslo).name)
  }

  @Test("Of many rejected changes the first are shown, with their number")
  func manyRejected() async throws {
    let device = try InspectedDevice()
    for number in 0..<7 { try await device.put("t\(number)", ["title": "T"]) }
    await device.store.sync()
    let json = try await device.visitor().json("/api/rejected?limit=3")
    #expect(json.all("entries", "id") == ["t0", "t1", "t2"] && json["total"] == 7)
  }

  @Test("A decision about an edited or settled entry fails without a change")
  func late() async throws {
    let device = try InspectedDevice()
    try await device.refused()
    let visitor = try await device.visitor()
    let shown = try await visitor.json("/api/rejected").first("entries", where: "id", is: "oslo")
    let revision = try #require(shown?["revision"]?.intValue)
    try await device.put("oslo", ["title": "Oslo, edited"])
    let late = await visitor.post(
      "/api/resolve", #"{"type":"Trip","id":"oslo","resolution":"revert","revision":\#(revision)}"#)
    #expect(late.status == .conflict && late.text.contains("edited since"))
    #expect(try device.store.store.record(RecordID(type: "Trip", id: "oslo"))?["title"] == "Oslo, edited")
    let settled = await visitor.post("/api/resolve", #"{"type":"Trip","id":"rum","resolution":"revert"}"#)
    #expect(settled.status == .conflict)
    for body in ["{}", "[]", "no", #"{"type":"Trip","id":"oslo","resolution":"burn"}"#] {
      #expect(await visitor.post("/api/resolve", body).status == .badRequest)
    }
  }

  @Test("A sync from the page sends pending changes and reports the result")
  func sync() async throws {
    let device = try InspectedDevice()
    try await device.put("oslo", ["title": "Oslo", "country": "Norway"])
    let visitor = try await device.visitor()
    let report = try await visitor.post("/api/sync").json
    #expect(report["pushed"] == 1 && report["why"] == .null)
    #expect(try await visitor.json("/api/outbox")["total"] == 0)
    #expect(await visitor.post("/api/pause").status == .ok)
    #expect(try await visitor.post("/api/sync").json["error"]?["code"] == "paused")
    #expect(await visitor.post("/api/resume").status == .ok)
    #expect(!device.store.isPaused)
  }

  @Test("Containers show their cursors, last pulls and pending entries")
  func containers() async throws {
    let device = try InspectedDevice()
    let visitor = try await device.visitor()
    #expect(try await visitor.json("/api/containers").all("containers", "complete") == [false])
    try await device.refused()
    let json = try await visitor.json("/api/containers")
    let whole = try #require(json["containers"]?.arrayValue?.first)
    #expect(whole["container"] == "" && whole["complete"] == true && whole["followed"] == true)
    #expect(whole["pending"] == 2 && whole["cursor"]?.stringValue?.isEmpty == false)
    #expect((whole["pulledAt"]?.intValue ?? 0) > 0 && json["lease"] == .null)
  }

  @Test("The count of a container includes all pending entries with a local record")
  func waitingInContainers() async throws {
    let device = try InspectedDevice()
    try await device.store.follow([SyncScope(container: "north", includesChildren: true)])
    _ = try await device.store.save(
      (0..<5500).map { AnyRecord("Trip", id: "t\($0)", ["title": "T"], container: "north/\($0 % 2)") },
      options: RequestOptions(writePolicy: .local))
    try await device.put("south", ["title": "S"])
    let json = try await device.visitor().json("/api/containers")
    #expect(json.first("containers", where: "container", is: "north")?["pending"] == 5500)
  }

  @Test("The server's history is requested page by page")
  func history() async throws {
    let device = try InspectedDevice()
    try await device.refused()
    let json = try await device.visitor().json("/api/history")
    #expect(Set(json.all("changes", "id")) == ["oslo", "rum"])
  }
}
