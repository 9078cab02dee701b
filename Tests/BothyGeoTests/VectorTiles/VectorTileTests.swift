import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import Testing

@Suite("Vector tiles", .timeLimit(.minutes(5)))
struct VectorTileTests {
  typealias Writer = VectorTileWriter
  typealias Feature = VectorTileWriter.Feature

  private func refusal(_ bytes: Data) -> String {
    do {
      let tile = try VectorTile(decoding: bytes)
      return tile.problems.first.map { "left out: \($0.reason)" } ?? "read"
    } catch { return error.code == .notATile ? error.message : "\(error.code)" }
  }

  private func problem(_ feature: Feature, version: UInt64 = 2) -> String {
    var writer = Writer()
    writer.layer("a", version: version, [feature])
    return refusal(Data(writer.bytes))
  }

  @Test("All kinds of values are read, and 64-bit numbers keep each digit")
  func values() throws {
    let tile = try VectorTile(
      decoding: Writer.tile(
        "a",
        .point(
          1, 2,
          [
            ("string", .string("Ås 🦉")), ("float", .float(1.5)), ("double", .double(2.25)), ("int", .int(-3)),
            ("least", .int(.min)), ("uint", .uint(.max)), ("sint", .sint(-4)), ("far", .sint(.min)),
            ("yes", .bool(true)), ("whole", .double(7)), ("string", .string("last")),
          ])))
    let layer = try #require(tile.layers.first)
    let texts = layer.properties(of: layer.features[0]).map { "\($0.key)=\($0.value.text)" }
    #expect(
      texts == [
        "string=Ås 🦉", "float=1.5", "double=2.25", "int=-3", "least=-9223372036854775808",
        "uint=18446744073709551615", "sint=-4", "far=-9223372036854775808", "yes=true", "whole=7",
        "string=last",
      ])
    #expect(layer.name == "a" && layer.version == 2 && layer.extent == 4096 && tile.problems.isEmpty)
  }

  @Test("Points, lines and polygons with holes are read")
  func shapes() throws {
    let square: [(Int64, Int64)] = [(0, 0), (10, 0), (10, 10), (0, 10)]
    let hole: [(Int64, Int64)] = [(2, 2), (2, 4), (4, 4), (4, 2)]
    let other = square.map { ($0.0 + 100, $0.1) }
    let tile = try VectorTile(
      decoding: Writer.tile(
        "a", .point(-5, 4100), .line([(1, 1), (2, 3), (2, 0)]), .area([square, hole, other]),
        Feature(kind: 1, geometry: [2 << 3 | 1, 2, 4, 1, 1]),
        Feature(kind: 2, geometry: Writer.Pen.draw([[(0, 0), (1, 0)], [(5, 5), (5, 6)]]))))
    func ring(_ places: [(Int64, Int64)]) -> [GridPoint] {
      (places + [places[0]]).map { GridPoint($0.0, $0.1) }
    }
    #expect(
      tile.layers.first?.features.map(\.shape) == [
        .points([GridPoint(-5, 4100)]), .lines([[GridPoint(1, 1), GridPoint(2, 3), GridPoint(2, 0)]]),
        .polygons([[ring(square), ring(hole)], [ring(other)]]), .points([GridPoint(1, 2), GridPoint(0, 1)]),
        .lines([[GridPoint(0, 0), GridPoint(1, 0)], [GridPoint(5, 5), GridPoint(5, 6)]]),
      ])
  }

  @Test("The first ring with an area decides which way outer rings turn")
  func winding() throws {
    let square: [(Int64, Int64)] = [(0, 0), (10, 0), (10, 10), (0, 10)]
    let flat: [(Int64, Int64)] = [(0, 0), (5, 0), (9, 0)]
    let small: [(Int64, Int64)] = [(2, 2), (4, 2), (4, 4), (2, 4)]
    let tile = try VectorTile(
      decoding: Writer.tile("a", .area([flat, square.reversed(), small]), .area([square, small])))
    let counts = tile.layers.first?.features.map { feature -> [Int] in
      guard case .polygons(let polygons)? = feature.shape else { return [] }
      return polygons.map(\.count)
    }
    #expect(counts == [[2], [1, 1]])
  }

  @Test("No bytes are a tile without layers, and unknown fields are skipped")
  func unknown() throws {
    #expect(try VectorTile(decoding: Data()).layers.isEmpty)
    var more = Writer()
    more.number(100, 300)
    more.field(101, [1, 2, 3])
    more.varint(102 << 3 | 5)
    let unknown = more.bytes + [0, 0, 0, 0]
    var writer = Writer()
    writer.layer("a", [Feature(kind: 1, geometry: [9, 2, 2], more: unknown)], more: unknown)
    let tile = try VectorTile(decoding: Data(writer.bytes + unknown))
    #expect(tile.layers.first?.features.map(\.shape) == [.points([GridPoint(1, 1)])] && tile.problems.isEmpty)
  }

  @Test("Version 1 may leave out its number, the extent and the ends of rings")
  func versionOne() throws {
    var writer = Writer()
    let open = Writer.Pen.draw([[(0, 0), (10, 0), (10, 10)]])
    let closed = Writer.Pen.draw([[(0, 0), (10, 0), (10, 10)]], isClosed: true)
    let features = [Feature(kind: 3, geometry: open), Feature(kind: 2, geometry: closed)]
    writer.layer("a", version: nil, extent: nil, features)
    let layer = try #require(try VectorTile(decoding: Data(writer.bytes)).layers.first)
    let ring = [(0, 0), (10, 0), (10, 10), (0, 0)].map { GridPoint($0.0, $0.1) }
    #expect(layer.version == 1 && layer.extent == 4096)
    #expect(layer.features.map(\.shape) == [.polygons([[ring]]), .lines([ring])])
    #expect(problem(Feature(kind: 3, geometry: open)).contains("a ring isn't closed"))
    #expect(problem(Feature(kind: 2, geometry: closed)).contains("a line is closed"))
  }

  /// Promises: T-50
  @Test("A feature that breaks a rule by itself is left out and named")
  func leftOut() throws {
    let cases: [(Feature, String)] = [
      (Feature(geometry: [9, 2, 2]), "it has no kind of shape"), (Feature(kind: 1), "it has no geometry"),
      (Feature(kind: 9, geometry: [9, 2, 2]), "its kind of shape, 9, is unknown"),
      (Feature(kind: 1, geometry: [9, 2, 2], more: [0x22, 3, 9, 2, 2]), "it has a field twice"),
      (Feature(kind: 1, geometry: [9, 2, 2], more: [0x12, 1, 0]), "a property has a key and no value"),
      (.line([(1, 1), (1, 1)]), "a line has a position twice in succession"),
      (.line([(1, 1)]), "a line has one position"),
      (.area([[(0, 0), (5, 0), (9, 0)]]), "its rings have no area"),
    ]
    for (feature, reason) in cases {
      var writer = Writer()
      let named = Feature.point(0, 0, [("name", .string("x"))])
      writer.layer("a", [named, feature, named])
      let tile = try VectorTile(decoding: Data(writer.bytes))
      #expect(tile.layers.first?.features.count == 2, "\(reason)")
      #expect(tile.problems.map(\.index) == [1])
      #expect(tile.problems.map(\.reason) == ["\(reason), in the layer 'a'"])
    }
    var writer = Writer()
    writer.layer("a", [.point(0, 0)])
    writer.layer("a", [.point(1, 1)])
    writer.layer("b", [Feature(kind: 0, geometry: [9, 2, 2])])
    let tile = try VectorTile(decoding: Data(writer.bytes))
    #expect(tile.layers.map(\.name) == ["a", "b"] && tile.problems.map(\.index) == [1])
    #expect(tile.layers[1].features.map(\.shape) == [nil])
  }

  /// Promises: T-50
  @Test("Damage refuses the whole tile")
  func damage() throws {
    let point = Feature.point(1, 1, [("name", .string("x"))])
    func layer(_ version: UInt64?, _ extent: UInt64?, more: [UInt8] = []) -> String {
      var writer = Writer()
      writer.layer("a", version: version, extent: extent, [point], more: more)
      return refusal(Data(writer.bytes))
    }
    #expect(layer(3, 4096).contains("version 3"))
    #expect(layer(2, 0).contains("no extent"))
    #expect(layer(2, 1 << 32).contains("more than 32 bits"))
    #expect(layer(2, 4096, more: [15 << 3 | 2, 1, 65]).contains("the version of a layer has another type"))
    #expect(layer(2, 4096, more: [1 << 3 | 2, 1, 0xFF]).contains("isn't UTF-8"))
    #expect(layer(2, 4096, more: [0x22, 0]).contains("a value has no known kind"))
    #expect(layer(2, 4096, more: [0x22, 4, 0x38, 1, 0x28, 1]).contains("a value has two kinds"))
    #expect(layer(2, 4096, more: [3]).contains("unknown encoding"))
    #expect(refusal(Data([0x1A, 2, 0x78, 2])).contains("no name"))
    #expect(problem(Feature(kind: 1, geometry: [9, 2, 2], more: [0x12, 2, 0, 0])).contains("key"))
    let commands: [(UInt64, [UInt32], String)] = [
      (1, [15], "another shape"), (1, [9, 2], "fewer positions"),
      (1, [0xFFFF_FFF9, 2, 2], "fewer positions"),
      (1, [1, 2, 2], "no positions"), (1, [8, 2, 2], "unknown command"), (2, [10, 2, 2], "no beginning"),
      (2, [17, 2, 2, 2, 2], "2 beginnings"), (2, [9, 0, 0, 0xFFFF_FFFA, 2, 2], "fewer positions"),
      (3, [9, 0, 0, 18, 2, 0, 0, 2, 23], "closed 2 times"), (3, [15], "no beginning"),
    ]
    for (kind, geometry, reason) in commands {
      #expect(problem(Feature(kind: kind, geometry: geometry)).contains(reason), "\(geometry)")
    }
  }

  /// Promises: T-50
  @Test("A small tile that refers to a long text many times is refused")
  func amplified() {
    let long = Writer.Value.string(String(repeating: "x", count: 1 << 20))
    var writer = Writer()
    writer.layer("a", (0..<70).map { _ in .point(0, 0, [("text", long)]) })
    #expect(writer.bytes.count < 2 << 20)
    #expect(refusal(Data(writer.bytes)).contains("MB of text"))
    let many = Data(count: VectorTile.sizeLimit + 1)
    #expect(refusal(many).contains("16 MB"))
  }

  /// A tile with a shape and a value of each kind.
  private var sample: Data {
    var writer = Writer()
    writer.layer(
      "roads",
      [
        .line(
          [(0, 0), (50, 60), (4100, 70)], id: 1 << 40, [("kind", .string("path")), ("oneway", .bool(true))]),
        .area([[(0, 0), (10, 0), (10, 10)], [(2, 1), (8, 7), (8, 1)]], [("height", .double(2.5))]),
      ])
    writer.layer(
      "pois", version: 1, extent: 512,
      [
        .point(
          3, 4, id: 7, [("name", .string("Zoë")), ("n", .sint(-9)), ("u", .uint(.max)), ("f", .float(1))])
      ])
    return Data(writer.bytes)
  }

  /// Promises: T-50
  @Test("A tile that is cut off at any byte traps nowhere")
  func truncated() throws {
    let whole = try VectorTile(decoding: sample)
    #expect(whole.layers.map(\.features.count) == [2, 1])
    for end in 0..<sample.count {
      guard let part = try? VectorTile(decoding: sample.prefix(end)) else { continue }  // refused
      #expect(part.layers == Array(whole.layers.prefix(part.layers.count)), "\(end)")
    }
  }

  /// Promises: T-50
  @Test("Random damage traps nowhere, also on earth and as GeoJSON", arguments: [1, 2, 3, 4] as [UInt64])
  func mutations(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let tile = try Tile(x: 8681, y: 4767, zoom: 14)
    let decoder = VectorTileDecoder()
    var read = 0
    for _ in 0..<5000 {
      var bytes = [UInt8](sample)
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        let place = Int.random(in: bytes.indices, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 2 where bytes.count > 1: bytes.remove(at: place)
        default: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
        }
      }
      guard let content = try? VectorTile(decoding: bytes) else { continue }  // refused
      read += 1
      #expect(throws: Never.self) { try JSONValue(parsing: content.geoJSON(in: tile)) }
      _ = try? decoder.decode(Data(bytes), of: tile, categories: .common)  // an unknown schema
    }
    #expect(read > 0)
  }

  @Test("GeoJSON has the positions of the grid, or those on earth")
  func geoJSON() throws {
    let tile = try VectorTile(
      decoding: Writer.tile("a", .point(0, 2048, id: .max, [("n", .uint(.max)), ("b", .bool(false))])))
    #expect(
      String(decoding: tile.geoJSON(in: nil), as: UTF8.self)
        == #"{"type":"FeatureCollection","layers":[{"name":"a","version":2,"extent":4096}],"problems":[],"#
        + #""features":[{"type":"Feature","layer":"a","id":18446744073709551615,"#
        + #""geometry":{"type":"Point","coordinates":[0,2048]},"#
        + #""properties":{"b":false,"n":18446744073709551615}}]}"#)
    let world = try Tile(x: 0, y: 0, zoom: 0)
    #expect(String(decoding: tile.geoJSON(in: world), as: UTF8.self).contains(#""coordinates":[-180,0]"#))
    let far = try VectorTile(decoding: Writer.tile("a", Feature(kind: 1, geometry: [9, .max - 1, 0])))
    #expect(String(decoding: far.geoJSON(in: world), as: UTF8.self).contains(#""geometry":null"#))
    #expect(String(decoding: far.geoJSON(in: nil), as: UTF8.self).contains("[2147483647,0]"))
  }
}
