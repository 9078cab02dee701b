import BothyCache
import BothyCore
import BothyStore

/// The stored form of a list, in the database of regions and in the copy of a region's plan.
extension MapClosure {
  var json: JSONValue {
    .object([
      "style": .string(style), "documents": .array(documents.map { .string($0) }),
      "files": .array(files.map { .string($0) }), "glyphs": glyphs.map { .string($0) } ?? .null,
      "fonts": .array(fonts.map { .string($0) }), "tiles": .array(tiles.map(\.json)),
      "editions": editions.isEmpty ? .null : .object(editions.mapValues { .int(Int64($0)) }),
    ])
  }

  /// Reads the stored form. Returns `nil` if it is damaged.
  init?(kept json: JSONValue) {
    guard let style = json["style"]?.stringValue else { return nil }
    self.init(style: style)
    documents = Self.texts(json["documents"])
    files = Self.texts(json["files"])
    glyphs = json["glyphs"]?.stringValue
    fonts = Self.texts(json["fonts"])
    editions = (json["editions"]?.objectValue ?? [:]).compactMapValues { number in
      number.intValue.map { Int(clamping: $0) }
    }
    for element in json["tiles"]?.arrayValue ?? [] {
      guard let part = Tiles(kept: element) else { return nil }
      tiles.append(part)
      if let template = part.template, StyleArchive.isArchive(template) {
        archives[template] = part.names[0]
      }
    }
  }

  fileprivate static func texts(_ json: JSONValue?) -> [String] {
    (json?.arrayValue ?? []).compactMap(\.stringValue)
  }
}

extension MapClosure.Tiles {
  fileprivate var json: JSONValue {
    .object([
      "names": .array(names.map { .string($0) }), "template": template.map { .string($0) } ?? .null,
      "hosts": .array(hosts.map { .string($0) }), "zooms": Self.json(zooms),
      "shift": .array([.double(leastShift), .double(mostShift)]), "drawn": drawn.map(Self.json) ?? .null,
      "bounds": .array([bounds.west, bounds.south, bounds.east, bounds.north].map { .double($0) }),
      "attribution": .string(attribution), "form": form.map { .string($0.rawValue) } ?? .null,
    ])
  }

  fileprivate init?(kept json: JSONValue) {
    let edges = (json["bounds"]?.arrayValue ?? []).compactMap(\.doubleValue)
    let shifts = (json["shift"]?.arrayValue ?? []).compactMap(\.doubleValue)
    guard let zooms = Self.zooms(json["zooms"]), edges.count == 4, shifts.count == 2 else { return nil }
    self.init(
      names: MapClosure.texts(json["names"]), template: json["template"]?.stringValue,
      hosts: MapClosure.texts(json["hosts"]), zooms: zooms, leastShift: shifts[0], mostShift: shifts[1],
      drawn: Self.zooms(json["drawn"]),
      bounds: GeoBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3]),
      attribution: json["attribution"]?.stringValue ?? "",
      form: json["form"]?.stringValue.flatMap { TileForm(rawValue: $0) })
    if names.isEmpty { return nil }
  }

  private static func json(_ zooms: ZoomRange) -> JSONValue {
    .array([.int(Int64(zooms.lowest)), .int(Int64(zooms.highest))])
  }

  private static func zooms(_ json: JSONValue?) -> ZoomRange? {
    let ends = (json?.arrayValue ?? []).compactMap(\.intValue)
    guard ends.count == 2 else { return nil }
    // A range that can't be one is damage.
    return try? ZoomRange(Int(clamping: ends[0]), Int(clamping: ends[1]))
  }
}
