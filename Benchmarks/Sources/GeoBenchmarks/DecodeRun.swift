import Bars
import BothyGeo
import Foundation

/// A tile of 10 MB with 50,000 features: four named places to each outline of a building.
struct DecodeRun {
  private let options: Options
  private static let features = 50_000

  init(_ options: Options) { self.options = options }

  func bars() throws -> [Bar] {
    let payload = Self.payload()
    print("tile to read: \((Double(payload.count) / 1e6).short) MB, \(Self.features) features")
    // The tile is decoded on another thread, as the app's map does. The measurement is the time that the caller waits.
    let lane = DispatchQueue(label: "bench.decode")
    var times: [Double] = []
    let before = processorSeconds()
    for _ in 0..<options.rounds {
      times.append(
        try seconds {
          let count = try lane.sync { try TileFeature.decode(geoJSON: payload).count }
          guard count == Self.features else { throw BenchmarkError("\(count) features were read") }
        })
    }
    let work = (processorSeconds() - before) / Double(options.rounds)
    print("reading it: \(work.short) s of a processor")
    return [Bar(claim: "reading the tile", measured: times.median ?? 0, limit: 0.5, unit: "s")]
  }

  private static func payload() -> Data {
    var random = Seeded(3)
    var text = ""
    for number in 0..<features {
      let longitude = (-2.7 + random.part() * 0.1) * 1e6
      let latitude = (51.4 + random.part() * 0.1) * 1e6
      let (x, y) = (longitude.rounded() / 1e6, latitude.rounded() / 1e6)
      if number % 5 > 0 {
        TileText.append(point: number, x, y, to: &text)
      } else {
        TileText.append(outline: number, x, y, to: &text)
      }
    }
    return TileText.collection(text)
  }
}
