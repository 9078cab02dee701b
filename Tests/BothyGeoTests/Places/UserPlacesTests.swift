import BothyGeo
import BothyStore
import Foundation
import Testing

@Suite("The places of a person", .timeLimit(.minutes(5)))
struct UserPlacesTests {
  private let mine: SavedPlaces
  private let start = Coordinate(latitude: 43.462, longitude: -80.52)

  init() throws { mine = SavedPlaces(try LocalStore(inMemory: StoreSchema(types: SavedPlaces.types))) }

  private func time(_ seconds: Int) -> Date { Date(timeIntervalSince1970: 1_800_000_000 + Double(seconds)) }

  /// Promises: T-15
  @Test("The five latest selections come first, each once, and fifty are stored")
  func recent() throws {
    for number in 0..<60 {
      let key = FeatureKey(.poi, String(number))
      try mine.noteSelected(
        SelectedPlace("Place \(number)", at: start, for: key, selectedAt: time(number)))
    }
    #expect(try mine.recentlySelected().map(\.name) == (55..<60).reversed().map { "Place \($0)" })
    let key = FeatureKey(.poi, "20")
    try mine.noteSelected(SelectedPlace("Renamed", at: start, for: key, selectedAt: time(100)))
    #expect(try mine.recentlySelected(2).map(\.name) == ["Renamed", "Place 59"])
    #expect(try mine.recentlySelected(100).count == SavedPlaces.rememberedSelections)
    // A position without a place counts once as well.
    for second in 200..<203 {
      try mine.noteSelected(SelectedPlace("Here", at: start, selectedAt: time(second)))
    }
    #expect(try mine.recentlySelected(2).map(\.name) == ["Here", "Renamed"])
  }

  /// Promises: T-15
  @Test("A selection is the newest, also after fifty of a clock that was ahead")
  func ahead() throws {
    for number in 0..<52 {
      let key = FeatureKey(.poi, String(number))
      let second = number < 50 ? 100_000 + number : number
      try mine.noteSelected(
        SelectedPlace("Place \(number)", at: start, for: key, selectedAt: time(second)))
    }
    #expect(try mine.recentlySelected().map(\.name) == (47..<52).reversed().map { "Place \($0)" })
    #expect(try mine.recentlySelected(100).count == SavedPlaces.rememberedSelections)
  }

  @Test("A person has one destination, and markers keep their order, notes and features")
  func saved() throws {
    let first = try mine.addMarker("A", at: start, note: "By the gate", createdAt: time(1))
    try mine.setDestination("B", at: start, createdAt: time(0))
    try mine.setDestination("C", at: start, for: FeatureKey(.road, "-7"), createdAt: time(0))
    var second = try mine.addMarker("D", at: start, createdAt: time(2))
    #expect(try mine.saved().map(\.name) == ["A", "D", "C"] && mine.markers() == [first, second])
    #expect(try mine.destination()?.feature == FeatureKey(.road, "-7"))
    second.name = "E"
    try mine.save(second)
    try mine.clearDestination()
    #expect(try mine.saved() == [first, second] && mine.destination() == nil)
    #expect(try mine.remove(first.id) && !mine.remove(first.id))
    #expect(FeatureKey("intersection/1_2@43,-80") == FeatureKey(.intersection, "1_2@43,-80"))
    #expect(FeatureKey("poi") == nil && FeatureKey("sea/1") == nil)
  }
}
