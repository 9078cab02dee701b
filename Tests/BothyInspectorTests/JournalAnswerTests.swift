import BothyInspector
import BothyStore
import BothySync
import HTTPTypes
import Testing

@Suite("The journal on the page", .timeLimit(.minutes(5)))
struct JournalAnswerTests {
  /// Returns a device whose rejected change of a trip was reverted.
  private func reverted() async throws -> (InspectedDevice, Visitor) {
    let device = try InspectedDevice()
    try await device.refused()
    try device.store.resolve(RecordID(type: "Trip", id: "oslo"), .revert)
    return (device, try await device.visitor())
  }

  @Test("The journal shows lost content and its replacement, page by page")
  func entries() async throws {
    let (device, visitor) = try await reverted()
    defer { withExtendedLifetime(device) {} }
    let json = try await visitor.json("/api/journal?lost=1")
    #expect(json.all("entries", "id") == ["oslo"] && json["next"] == .null)
    let entry = try #require(json["entries"]?.arrayValue?.first)
    #expect(entry["cause"] == "reverted" && entry["verdict"] == "rejected" && entry["restorable"] == true)
    let title = try #require(entry.first("lostFields", where: "field", is: "title"))
    #expect(title["local"] == "Oslo again" && title["now"] == "Oslo" && title["base"] == "Oslo")
    let first = try await visitor.json("/api/journal?limit=2")
    let next = try #require(first["next"]?.intValue)
    let second = try await visitor.json("/api/journal?limit=2&before=\(next)")
    let numbers = (first.all("entries", "number") + second.all("entries", "number")).compactMap(\.intValue)
    #expect(numbers.count == 4 && numbers == numbers.sorted(by: >))
  }

  @Test("The journal of one record has its entries alone")
  func ofOneRecord() async throws {
    let (device, visitor) = try await reverted()
    defer { withExtendedLifetime(device) {} }
    let oslo = try await visitor.json("/api/journal?type=Trip&id=oslo").all("entries", "id")
    #expect(oslo.count > 1 && oslo.allSatisfy { $0 == "oslo" })
    #expect(try await visitor.json("/api/journal?type=Trip&id=gone")["entries"] == [])
    #expect(await visitor.get("/api/journal?type=Trip").status == .badRequest)
  }

  @Test("Restoring returns the lost fields once, and only from the page itself")
  func restore() async throws {
    let (device, visitor) = try await reverted()
    let number = try #require(
      try await visitor.json("/api/journal?lost=1").all("entries", "number").first?.intValue)
    let foreign = await visitor.post("/api/journal/restore", #"{"number":\#(number)}"#) {
      $0[.origin] = "http://evil.example"
    }
    #expect(foreign.status == .forbidden)
    let oslo = RecordID(type: "Trip", id: "oslo")
    #expect(try device.store.store.record(oslo)?["title"] == "Oslo")
    let answer = await visitor.post("/api/journal/restore", #"{"number":\#(number)}"#)
    #expect(try answer.json["state"] == "pending")
    #expect(try device.store.store.record(oslo)?["title"] == "Oslo again")
    let again = await visitor.post("/api/journal/restore", #"{"number":\#(number)}"#)
    #expect(again.status == .conflict && again.text.contains("restored before"))
    for body in ["{}", #"{"number":"x"}"#] {
      #expect(await visitor.post("/api/journal/restore", body).status == .badRequest)
    }
  }
}
