import BothyInspector
import BothyStore
import BothySync
import HTTPTypes
import Testing

@Suite("Records on the page", .timeLimit(.minutes(5)))
struct RecordAnswerTests {
  @Test("The overview shows types with counts, pending work, and the server's address")
  func overview() async throws {
    let device = try InspectedDevice()
    try await device.refused()
    let json = try await device.visitor().json("/api/overview")
    #expect(json["file"]?.stringValue == device.path)
    #expect(json.all("types", "name") == ["Trip", "Stop"] && json.all("types", "count") == [3, 0])
    #expect(
      json["pending"] == ["insert": 1, "update": 1, "delete": 0, "total": 2, "drafts": 0, "rejected": 2])
    #expect(json["server"]?["url"] == "http://hut.test" && json["server"]?["space"] == "hut")
    #expect(json["lease"] == .null && json["paused"] == false)
    #expect((json["lastEndedWell"]?.intValue ?? 0) > 0 && json["failing"] == .null)
  }

  @Test("Pages follow each other by key, in any order, and count once")
  func pages() async throws {
    let device = try InspectedDevice()
    for number in 0..<25 {
      try await device.put(
        "t\(number)", ["title": .text("T\(number % 7)"), "nights": .int(Int64(number % 3))])
    }
    let visitor = try await device.visitor()
    for order in ["", "title", "-title", "-nights,title"] {
      var after = ""
      var seen: [String] = []
      repeat {
        let json = try await visitor.json("/api/records?type=Trip&limit=10&order=\(order)&after=\(after)")
        #expect(json["total"] == (after.isEmpty ? 25 : .null))
        seen += json.all("records", "id").compactMap(\.stringValue)
        after = json["next"]?.stringValue ?? ""
      } while !after.isEmpty
      let expected = try await device.store.store.fetch(AnyQuery("Trip", order: SortKey.parse(order)))
      #expect(seen == expected.map(\.id), "\(order)")
    }
  }

  @Test("The next page works after its start record was deleted")
  func goneMark() async throws {
    let device = try InspectedDevice()
    for number in 0..<5 { try await device.put("t\(number)", ["title": "T", "nights": .int(Int64(number))]) }
    let visitor = try await device.visitor()
    let first = try await visitor.json("/api/records?type=Trip&limit=2&order=nights")
    try await device.store.delete(
      RecordID(type: "Trip", id: "t1"), options: RequestOptions(writePolicy: .local))
    let next = try #require(first["next"]?.stringValue)
    let second = try await visitor.json("/api/records?type=Trip&limit=2&order=nights&after=\(next)")
    #expect(second.all("records", "id") == ["t2", "t3"])
  }

  @Test("Conditions are those of the tool, and a mistake reports its remedy")
  func conditions() async throws {
    let device = try InspectedDevice()
    try await device.refused()
    let visitor = try await device.visitor()
    let found = try await visitor.json("/api/records?type=Trip&where=country+%3D+'Scotland'+OR+nights+%3E+1")
    #expect(
      found.all("records", "id") == ["oslo", "rum"]
        && found.all("records", "state") == ["rejected", "synced"])
    for (target, words) in [
      ("type=Trip&where=nights+%3E", "nights"), ("type=Trip&where=none+%3D+1", "none"),
      ("type=Nothing", "Known: Trip, Stop"), ("type=Trip&order=place", "no order"), ("", "'type'"),
      ("type=Trip&after=x", "first page"),
    ] {
      let answer = await visitor.get("/api/records?" + target)
      #expect((400..<500).contains(answer.status.code))
      #expect(try answer.json["error"]?["message"]?.stringValue?.contains(words) == true, "\(target)")
    }
  }

  @Test("A page shows how it was read")
  func plan() async throws {
    let device = try InspectedDevice()
    for number in 0..<5 { try await device.put("t\(number)", ["title": "T", "nights": .int(Int64(number))]) }
    let json = try await device.visitor().json("/api/records?type=Trip&where=nights+%3E+3")
    #expect(json.all("records", "id") == ["t4"])
    #expect(json.all("plan", "runs") == [1] && json.all("plan", "scanned") == [5])
    let steps = try #require(json["plan"]?.arrayValue?.first?["plan"]?.arrayValue)
    #expect(steps.contains { $0.stringValue?.contains("SCAN Trip") == true }, "\(steps)")
    #expect(json.all("plan", "sql").first?.stringValue?.contains("\"nights\" > 3") == true)
  }

  @Test("One record shows its pending change with local, base and remote version")
  func record() async throws {
    let device = try InspectedDevice()
    try await device.refused()
    let visitor = try await device.visitor()
    let json = try await visitor.json("/api/record?type=Trip&id=oslo")
    #expect(json["record"]?["fields"]?["title"] == "Oslo again" && json["record"]?["state"] == "rejected")
    let pending = try #require(json["pending"])
    #expect(pending["kind"] == "update" && pending["reason"]?["code"] == "invalid")
    #expect(pending["fields"] == ["title": "Oslo again", "country": .null])
    #expect(
      pending.first("comparison", where: "field", is: "country")
        == ["field": "country", "here": .null, "base": "Norway", "server": "Norway", "differs": true])
    #expect(pending.first("comparison", where: "field", is: "nights")?["differs"] == false)
    #expect(try await visitor.json("/api/record?type=Trip&id=rum")["pending"] == .null)
    let none = await visitor.get("/api/record?type=Trip&id=none")
    #expect(none.status == .notFound && none.text.contains("Go back"))
  }

  @Test("An edit keeps fields that aren't given, and a new record gets an id")
  func put() async throws {
    let device = try InspectedDevice()
    try await device.put("oslo", ["title": "Oslo", "country": "Norway", "nights": 2])
    let visitor = try await device.visitor()
    let edit = await visitor.post("/api/put", #"{"type":"Trip","id":"oslo","fields":{"nights":3}}"#)
    #expect(try edit.json["state"] == "pending")
    let oslo = try #require(try device.store.store.record(RecordID(type: "Trip", id: "oslo")))
    #expect(oslo["title"] == "Oslo" && oslo["country"] == "Norway" && oslo["nights"] == 3)
    let made = try await visitor.post("/api/put", #"{"type":"Trip","fields":{"title":"Rum"}}"#).json
    let id = try #require(made["id"]?.stringValue)
    #expect(try device.store.store.record(RecordID(type: "Trip", id: id))?["title"] == "Rum")
  }

  @Test("An edit of a record that was deleted meanwhile makes no other one")
  func deletedMeanwhile() async throws {
    let device = try InspectedDevice()
    try await device.put("oslo", ["title": "Oslo", "country": "Norway", "nights": 2])
    let visitor = try await device.visitor()
    let id = RecordID(type: "Trip", id: "oslo")
    try await device.store.delete(id, options: RequestOptions(writePolicy: .local))
    let edit = await visitor.post("/api/put", #"{"type":"Trip","id":"oslo","fields":{"title":"Oslo 2"}}"#)
    #expect(edit.status == .notFound && edit.text.contains("no longer on this device"))
    #expect(try device.store.store.record(id) == nil)
  }

  @Test("Decimals are shown, edited and compared as numbers")
  func decimals() async throws {
    let device = try InspectedDevice()
    let visitor = try await device.visitor()
    let body = #"{"type":"Trip","fields":{"title":"Rum","cost":"-12.50"}}"#
    let id = try #require(try await visitor.post("/api/put", body).json["id"]?.stringValue)
    #expect(try device.store.store.record(RecordID(type: "Trip", id: id))?["cost"] == "-y87.4~")
    let found = try await visitor.json("/api/records?type=Trip&where=cost+%3C+-12")
    #expect(found["records"]?.arrayValue?.first?["fields"]?["cost"] == "-12.5")
    let entry = try await visitor.json("/api/outbox").first("entries", where: "id", is: .string(id))
    #expect(entry?["fields"]?["cost"] == "-12.5")
    let shown = try await visitor.json("/api/record?type=Trip&id=\(id)")
    let compared = shown["pending"]?.first("comparison", where: "field", is: "cost")
    #expect(compared?["here"] == "-12.5")
    let trip = try await visitor.json("/api/overview").first("types", where: "name", is: "Trip")
    #expect(trip?.first("fields", where: "name", is: "cost")?["kind"] == "decimal")
    let refused = await visitor.post("/api/put", #"{"type":"Trip","fields":{"title":"Rum","cost":"12,5"}}"#)
    #expect(refused.status == .badRequest && refused.text.contains("cost"))
  }

  @Test("A record that can't be saved is refused with its reason, and nothing changes")
  func badPut() async throws {
    let device = try InspectedDevice()
    let visitor = try await device.visitor()
    for (body, reason) in [
      (#"{"type":"Trip","fields":{"nights":"three"}}"#, "nights"),
      (#"{"type":"Trip","fields":{"colour":"red"}}"#, "colour"), (#"{"type":"Trip"}"#, "fields"),
      (#"{"type":"Boat","fields":{}}"#, "Boat"),
    ] {
      let answer = await visitor.post("/api/put", body)
      #expect((400...404).contains(answer.status.code) && answer.text.contains(reason), "\(body)")
    }
    let foreign = await visitor.post("/api/put", #"{"type":"Trip","fields":{"title":"x"}}"#) {
      $0[.origin] = "http://evil.example"
    }
    #expect(foreign.status == .forbidden)
    #expect(try await visitor.json("/api/outbox")["total"] == 0)
  }
}
