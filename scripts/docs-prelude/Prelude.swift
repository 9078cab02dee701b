/// What the examples in doc comments use without declaring it. They are compiled and never run, so a value here is
/// its type alone.

import Bothy
import BothyCache
import BothyGeo
import BothyPacks
import Foundation

// Records.

@Entity struct TodoList {
  var name: String
}

@Entity struct Todo {
  @FullText var title: String
  var done = false
  var effort = 1
  @Indexed var due: Date?
  var list: Reference<TodoList>?
}

@Entity struct Booking {
  var hut: String
  var beds = 1
  var night = Date()
}

@Entity struct Hut {
  var name: String
  var beds = 4
  var position: Coordinate?
}

@Entity struct Purse {
  var pence = 0
}

@Entity struct Trip {
  var name: String
  var huts: [Reference<Hut>] = []
}

@Entity struct Photo {
  var caption: String
  var image: Blob
}

@Entity struct City {
  var name: String
}

@Entity struct PrayerTime {
  var city: String
  var day: String
}

let prayerTimes: [PrayerTime] = some()
let todo: Todo = some()
let todoList: TodoList = some()
let booking: Booking = some()
let trip: Trip = some()
let photo: Photo = some()
let jpeg = Data()

// Stores, servers, caches and settings.

let store: SyncedStore = some()
let accounts: AccountFolder = some()
let remote: BothyRemote = some()
let cache: ResourceCache = some()
let api: ResourceSource = some()
let cutOff: InvalidationDate = some()
let pack: Pack = some()
let source: ResourceSource = some()
let session: Session = some()
let path = "todos.bothy"
let folder = URL(filePath: "Bothy")
let menuURL = URL(filePath: "menu.json")
let pictureURL = URL(filePath: "hut.jpeg")
let home = SettingsContainer.inMemory()

struct Session: Sendable {
  var expiry: Date
  func token() async throws -> String { some() }
}

@SettingsGroup struct LocaleSettings {
  var languageLocale = "en"
  var timeFormat = "12"
}

struct Menu: Codable, Sendable {
  var dishes: [String]
}

// Maps.

let tiles: ResourceSource = some()
let layer: TileLayer = some()
let tile: Tile = some()
let visibleTiles: [Tile] = some()
let cafe: TileFeature = some()
let places: PlaceStore = some()
let savedPlaces: SavedPlaces = some()
let style: MapStyle = some()
let oslo = GeoBox(west: 10.5, south: 59.8, east: 11, north: 60.1)
let position = Coordinate(latitude: 59.913, longitude: 10.752)
let positions: AsyncStream<Coordinate> = some()
let regions: OfflineRegions = some()
let region: Region = some()

// What an app does with the answers.

func show(_ text: String) {}
func draw(_ tile: CachedResource, _ part: (x: Double, y: Double, size: Double)? = nil) {}
func showSignIn() {}

func some<Value>() -> Value { preconditionFailure("Examples are compiled and never run.") }
