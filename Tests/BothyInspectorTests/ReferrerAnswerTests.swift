import BothyInspector
import BothyStore
import BothySync
import HTTPTypes
import Testing

@Suite("Records that refer to a record, on its page", .timeLimit(.minutes(5)))
struct ReferrerAnswerTests {
  @Test("Each referring field has its count, its first ids and the list's condition")
  func groups() async throws {
    let device = try InspectedDevice()
    for id in ["o'slo", "rum"] { try await device.put(id, ["title": "Trip"]) }
    try await device.put("ford", of: "Stop", ["name": "Ford", "trip": "o'slo"])
    try await device.put("hut", of: "Stop", ["name": "Hut", "trip": "o'slo", "near": .list(["rum"])])
    try await device.put("quay", of: "Stop", ["name": "Quay", "trip": "rum", "near": .list(["o'slo"])])
    let visitor = try await device.visitor()
    let json = try await visitor.json("/api/referrers?type=Trip&id=o'slo")
    #expect(json.all("groups", "type") == ["Stop", "Stop"])
    #expect(json.all("groups", "field") == ["trip", "near"])
    #expect(json.all("groups", "count") == [2, 1] && json.all("groups", "hasMore") == [false, false])
    #expect(json.all("groups", "ids") == [["ford", "hut"], ["quay"]])
    #expect(json.all("groups", "where") == ["trip = 'o''slo'", "near INCLUDES 'o''slo'"])
    for group in try #require(json["groups"]?.arrayValue) {
      let condition = try #require(group["where"]?.stringValue)
        .replacing(" ", with: "+").replacing("=", with: "%3D")
      let list = try await visitor.json("/api/records?type=Stop&where=\(condition)")
      #expect(group["ids"] == JSONValue.array(list.all("records", "id")) && list["total"] == group["count"])
    }
    let short = try await visitor.json("/api/referrers?type=Trip&id=o'slo&limit=1")
    #expect(short.all("groups", "ids").first == ["ford"] && short.all("groups", "count").first == 2)
  }

  @Test("A record that isn't here has its referrers, and a type without references none")
  func missing() async throws {
    let device = try InspectedDevice()
    try await device.put("ford", of: "Stop", ["name": "Ford", "trip": "gone"])
    let visitor = try await device.visitor()
    #expect(await visitor.get("/api/record?type=Trip&id=gone").status == .notFound)
    let gone = try await visitor.json("/api/referrers?type=Trip&id=gone")
    #expect(gone.all("groups", "ids") == [["ford"], []] && gone.all("groups", "count") == [1, 0])
    #expect(try await visitor.json("/api/referrers?type=Stop&id=ford")["groups"] == [])
    #expect(await visitor.get("/api/referrers?type=Boat&id=x").status == .notFound)
    #expect(await visitor.get("/api/referrers?type=Trip").status == .badRequest)
  }

  @Test("Referrers are counted up to a thousand, and twenty are listed")
  func many() async throws {
    let device = try InspectedDevice()
    let stops = (0...1000).map { AnyRecord("Stop", id: "s\($0)", ["name": "Stop", "trip": "oslo"]) }
    try await device.store.save(stops, options: RequestOptions(writePolicy: .local))
    let visitor = try await device.visitor()
    let json = try await visitor.json("/api/referrers?type=Trip&id=oslo")
    let group = try #require(json.first("groups", where: "field", is: "trip"))
    #expect(group["count"] == 1000 && group["hasMore"] == true && group["ids"]?.arrayValue?.count == 20)
    try await device.store.delete(
      RecordID(type: "Stop", id: "s0"), options: RequestOptions(writePolicy: .local))
    let fewer = try await visitor.json("/api/referrers?type=Trip&id=oslo")
    #expect(fewer.first("groups", where: "field", is: "trip")?["hasMore"] == false)
  }
}
